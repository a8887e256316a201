class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_1_modules_blocks_modules_0_modules_norm2_parameters_bias_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0367362
    std = 0.21391
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_stages_modules_1_modules_blocks_modules_0_modules_norm2_parameters_weight_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.02168
    std = 0.235181
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_32"
    shape = [2, 128, 16, 16]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0828279
    std = 10.2174
    data = None
