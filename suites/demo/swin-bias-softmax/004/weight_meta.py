class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "k"
    shape = [64, 3, 49, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0128343
    std = 0.298461
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "q"
    shape = [64, 3, 49, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0109542
    std = 0.332768
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "relative_position_bias_2"
    shape = [1, 3, 49, 49]
    dtype = "torch.float32"
    device = "cpu"
    mean = 8.47867e-05
    std = 0.0195092
    data = None
