class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "k_2"
    shape = [4, 6, 49, 32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0384716
    std = 0.387448
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "q_4"
    shape = [4, 6, 49, 32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0103687
    std = 0.400913
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "relative_position_bias_8"
    shape = [1, 6, 49, 49]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.000120339
    std = 0.0194447
    data = None
