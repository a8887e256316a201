dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([64], "in_0"),
    ([64], "in_1"),
    ([64], "in_2"),
    ([64], "in_3"),
    ([2, 64, 16, 16], "in_4"),
]
