dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([4, 80, 128], "in_0"),
    ([256], "in_1"),
    ([256, 80, 3], "in_2"),
]
