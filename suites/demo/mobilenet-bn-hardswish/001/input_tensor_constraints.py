dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([184], "in_0"),
    ([184], "in_1"),
    ([184], "in_2"),
    ([184], "in_3"),
    ([1, 184, 8, 8], "in_4"),
]
