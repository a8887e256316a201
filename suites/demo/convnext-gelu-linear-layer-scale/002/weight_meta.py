class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_1_modules_0_modules_block_modules_5_parameters_bias_"
    shape = [96]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00322894
    std = 0.252492
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_1_modules_0_modules_block_modules_5_parameters_weight_"
    shape = [96, 384]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000105895
    std = 0.0200301
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_1_modules_0_parameters_layer_scale_"
    shape = [96, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0505294
    std = 0.286759
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "input_5"
    shape = [2, 16, 16, 384]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0145214
    std = 0.304589
    data = None
