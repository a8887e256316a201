class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "k_4"
    shape = [1, 12, 49, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0362844
    std = 0.488126
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "q_8"
    shape = [1, 12, 49, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0176483
    std = 0.481182
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "relative_position_bias_14"
    shape = [1, 12, 49, 49]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.000117635
    std = 0.0202165
    data = None
