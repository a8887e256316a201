class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_1_modules_blocks_modules_1_modules_norm1_parameters_bias_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0292827
    std = 0.252322
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_stages_modules_1_modules_blocks_modules_1_modules_norm1_parameters_weight_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.998752
    std = 0.262098
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "input_6"
    shape = [2, 512, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0828099
    std = 11.9081
    data = None
