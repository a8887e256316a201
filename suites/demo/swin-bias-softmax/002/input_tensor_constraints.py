dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([16, 3, 49, 32], "in_0"),
    ([16, 3, 49, 32], "in_1"),
    ([1, 3, 49, 49], "in_2"),
]
