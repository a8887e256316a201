dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([480], "in_0"),
    ([480], "in_1"),
    ([480], "in_2"),
    ([480], "in_3"),
    ([8, 480, 6, 6], "in_4"),
]
