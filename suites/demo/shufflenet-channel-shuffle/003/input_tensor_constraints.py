dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([4, 116, 8, 8], "in_0"),
    ([4, 116, 8, 8], "in_1"),
]
