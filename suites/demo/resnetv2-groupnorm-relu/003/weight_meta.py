class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_1_modules_norm1_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0169252
    std = 0.25496
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_1_modules_norm1_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.02131
    std = 0.250079
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "input_3"
    shape = [2, 256, 32, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0451717
    std = 6.87484
    data = None
