class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_7_modules_0_modules_block_modules_5_parameters_bias_"
    shape = [768]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0310001
    std = 0.256678
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_7_modules_0_modules_block_modules_5_parameters_weight_"
    shape = [768, 3072]
    dtype = "torch.float16"
    device = "cpu"
    mean = -6.24914e-06
    std = 0.0199918
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_7_modules_0_parameters_layer_scale_"
    shape = [768, 1, 1]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00672576
    std = 0.254601
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "input_113"
    shape = [2, 2, 2, 3072]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.009702
    std = 0.655346
    data = None
