dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([8], "in_0"),
    ([8, 16, 1, 1], "in_1"),
    ([16], "in_2"),
    ([16, 8, 1, 1], "in_3"),
    ([2, 16, 16, 16], "in_4"),
]
