dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([512], "in_0"),
    ([512], "in_1"),
    ([512], "in_2"),
    ([512], "in_3"),
    ([512, 256, 3, 3], "in_4"),
    ([2, 256, 4, 4], "in_5"),
]
