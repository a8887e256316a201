dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([96], "in_0"),
    ([96, 384], "in_1"),
    ([96, 1, 1], "in_2"),
    ([2, 16, 16, 384], "in_3"),
]
