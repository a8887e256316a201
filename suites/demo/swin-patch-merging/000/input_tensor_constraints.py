dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([1536], "in_0"),
    ([1536], "in_1"),
    ([1, 7, 7, 384], "in_2"),
]
