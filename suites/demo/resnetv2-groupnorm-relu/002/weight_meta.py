class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_0_modules_norm1_parameters_bias_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0153924
    std = 0.258416
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_0_modules_norm1_parameters_weight_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.949969
    std = 0.275174
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "input_2"
    shape = [2, 64, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 17.1604
    std = 7.25927
    data = None
