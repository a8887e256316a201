dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1024, 256], "in_0"),
    ([2, 64, 256], "in_1"),
    ([2, 64, 1024], "in_2"),
]
