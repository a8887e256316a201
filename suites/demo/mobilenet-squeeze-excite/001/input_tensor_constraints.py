dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([120], "in_0"),
    ([120, 480, 1, 1], "in_1"),
    ([480], "in_2"),
    ([480, 120, 1, 1], "in_3"),
    ([1, 480, 8, 8], "in_4"),
]
