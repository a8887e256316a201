dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([240], "in_0"),
    ([240], "in_1"),
    ([240], "in_2"),
    ([240], "in_3"),
    ([2, 240, 8, 8], "in_4"),
]
