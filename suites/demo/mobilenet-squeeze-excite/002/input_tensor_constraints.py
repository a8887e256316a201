dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([24], "in_0"),
    ([24, 72, 1, 1], "in_1"),
    ([72], "in_2"),
    ([72, 24, 1, 1], "in_3"),
    ([2, 72, 16, 16], "in_4"),
]
