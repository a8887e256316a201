dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1, 12, 49, 32], "in_0"),
    ([1, 12, 49, 32], "in_1"),
    ([1, 12, 49, 49], "in_2"),
]
