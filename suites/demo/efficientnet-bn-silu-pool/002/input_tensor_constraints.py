dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([32], "in_0"),
    ([32], "in_1"),
    ([32], "in_2"),
    ([32], "in_3"),
    ([2, 32, 32, 32], "in_4"),
]
