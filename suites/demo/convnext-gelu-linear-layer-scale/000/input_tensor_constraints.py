dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([384], "in_0"),
    ([384, 1536], "in_1"),
    ([384, 1, 1], "in_2"),
    ([1, 8, 8, 1536], "in_3"),
]
