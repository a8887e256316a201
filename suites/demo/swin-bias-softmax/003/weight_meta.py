class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "k_2"
    shape = [16, 6, 49, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0389918
    std = 0.392094
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "q_4"
    shape = [16, 6, 49, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00723853
    std = 0.374991
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "relative_position_bias_8"
    shape = [1, 6, 49, 49]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.000119829
    std = 0.0194417
    data = None
