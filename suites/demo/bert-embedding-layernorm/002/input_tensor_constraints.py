dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1, 128], "in_0"),
    ([256], "in_1"),
    ([256], "in_2"),
    ([512, 256], "in_3"),
    ([2, 256], "in_4"),
    ([1000, 256], "in_5"),
    ([1, 128], "in_6"),
    ([1, 128], "in_7"),
]
