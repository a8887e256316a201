dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([8, 116, 6, 6], "in_0"),
    ([8, 116, 6, 6], "in_1"),
]
