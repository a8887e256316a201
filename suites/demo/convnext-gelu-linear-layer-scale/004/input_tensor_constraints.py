dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([192], "in_0"),
    ([192, 768], "in_1"),
    ([192, 1, 1], "in_2"),
    ([2, 16, 16, 768], "in_3"),
]
