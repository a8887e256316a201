dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([128, 512, 1, 1], "in_0"),
    ([128], "in_1"),
    ([128], "in_2"),
    ([128], "in_3"),
    ([128], "in_4"),
    ([1, 512, 5, 5], "in_5"),
]
