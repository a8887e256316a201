dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([96], "in_0"),
    ([96], "in_1"),
    ([2, 96, 32, 32], "in_2"),
]
