dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([128], "in_0"),
    ([128], "in_1"),
    ([128], "in_2"),
    ([128], "in_3"),
    ([128, 64, 3, 3], "in_4"),
    ([4, 64, 32, 32], "in_5"),
]
