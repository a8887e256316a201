dynamic_dim_constraint_symbols = []

dynamic_dim_constraint_symbol2example_value = {}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([3234, 4], "in_0"),
    ([3234], "in_1"),
    ([3234], "in_2"),
    ([3234], "in_3"),
    ([3234], "in_4"),
]
