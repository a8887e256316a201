dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1, 256, 16, 16], "in_0"),
    ([1, 256, 8, 8], "in_1"),
]
