dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([192], "in_0"),
    ([192], "in_1"),
    ([4, 50, 192], "in_2"),
    ([4, 50, 192], "in_3"),
]
