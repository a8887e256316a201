dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([32], "in_0"),
    ([32, 120, 1, 1], "in_1"),
    ([120], "in_2"),
    ([120, 32, 1, 1], "in_3"),
    ([1, 120, 40, 40], "in_4"),
]
