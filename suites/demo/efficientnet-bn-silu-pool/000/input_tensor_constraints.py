dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([144], "in_0"),
    ([144], "in_1"),
    ([144], "in_2"),
    ([144], "in_3"),
    ([1, 144, 32, 32], "in_4"),
]
