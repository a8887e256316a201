class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_5_modules_0_modules_block_modules_5_parameters_bias_"
    shape = [384]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00736496
    std = 0.238029
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_5_modules_0_modules_block_modules_5_parameters_weight_"
    shape = [384, 1536]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.73494e-05
    std = 0.0199776
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_5_modules_0_parameters_layer_scale_"
    shape = [384, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0154765
    std = 0.244378
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "input_49"
    shape = [1, 8, 8, 1536]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0116434
    std = 0.487426
    data = None
