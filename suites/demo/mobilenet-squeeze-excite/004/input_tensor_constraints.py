dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([64], "in_0"),
    ([64, 240, 1, 1], "in_1"),
    ([240], "in_2"),
    ([240, 64, 1, 1], "in_3"),
    ([4, 240, 8, 8], "in_4"),
]
