dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([24], "in_0"),
    ([24], "in_1"),
    ([24], "in_2"),
    ([24], "in_3"),
    ([2, 24, 32, 32], "in_4"),
]
