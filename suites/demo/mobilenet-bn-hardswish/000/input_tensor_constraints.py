dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([200], "in_0"),
    ([200], "in_1"),
    ([200], "in_2"),
    ([200], "in_3"),
    ([1, 200, 20, 20], "in_4"),
]
