dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([12, 1, 1, 64], "in_0"),
    ([12, 1, 4, 64], "in_1"),
    ([12, 1, 1, 64], "in_2"),
]
