dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([256], "in_0"),
    ([256], "in_1"),
    ([256], "in_2"),
    ([256], "in_3"),
    ([1, 256, 8, 8], "in_4"),
]
