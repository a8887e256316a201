dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1024], "in_0"),
    ([1024], "in_1"),
    ([1024], "in_2"),
    ([1024], "in_3"),
    ([2, 1024, 6, 6], "in_4"),
    ([2, 1024, 6, 6], "in_5"),
]
