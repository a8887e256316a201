dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([256], "in_0"),
    ([256], "in_1"),
    ([256], "in_2"),
    ([256], "in_3"),
    ([256, 512, 1, 1], "in_4"),
    ([1, 512, 16, 16], "in_5"),
]
