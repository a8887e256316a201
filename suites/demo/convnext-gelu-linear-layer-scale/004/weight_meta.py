class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_3_modules_0_modules_block_modules_5_parameters_bias_"
    shape = [192]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0331575
    std = 0.249231
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_3_modules_0_modules_block_modules_5_parameters_weight_"
    shape = [192, 768]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 3.41845e-05
    std = 0.0200313
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_3_modules_0_parameters_layer_scale_"
    shape = [192, 1, 1]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0086726
    std = 0.265922
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "input_27"
    shape = [2, 16, 16, 768]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00452971
    std = 0.391388
    data = None
