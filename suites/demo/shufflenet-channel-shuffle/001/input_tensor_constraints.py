dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([2, 116, 4, 4], "in_0"),
    ([2, 116, 4, 4], "in_1"),
]
