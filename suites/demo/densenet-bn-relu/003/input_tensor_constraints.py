dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([58], "in_0"),
    ([58], "in_1"),
    ([58], "in_2"),
    ([58], "in_3"),
    ([4, 58, 16, 16], "in_4"),
]
