dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([192], "in_0"),
    ([192], "in_1"),
    ([1, 1, 192], "in_2"),
    ([1, 50, 192], "in_3"),
    ([1, 192, 7, 7], "in_4"),
]
