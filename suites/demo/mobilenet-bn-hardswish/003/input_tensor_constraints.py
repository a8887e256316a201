dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([16], "in_0"),
    ([16], "in_1"),
    ([16], "in_2"),
    ([16], "in_3"),
    ([2, 16, 32, 32], "in_4"),
]
