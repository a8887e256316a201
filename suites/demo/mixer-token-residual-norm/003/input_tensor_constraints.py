dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([512], "in_0"),
    ([512], "in_1"),
    ([1, 49, 512], "in_2"),
    ([1, 512, 49], "in_3"),
]
