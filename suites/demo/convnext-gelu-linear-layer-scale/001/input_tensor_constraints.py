dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([768], "in_0"),
    ([768, 3072], "in_1"),
    ([768, 1, 1], "in_2"),
    ([2, 2, 2, 3072], "in_3"),
]
