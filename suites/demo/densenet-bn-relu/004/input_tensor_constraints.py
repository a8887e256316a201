dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([116], "in_0"),
    ([116], "in_1"),
    ([116], "in_2"),
    ([116], "in_3"),
    ([8, 116, 6, 6], "in_4"),
]
