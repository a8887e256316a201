class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_6_modules_0_parameters_bias_"
    shape = [384]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0157975
    std = 0.253179
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_6_modules_0_parameters_weight_"
    shape = [384]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.993326
    std = 0.246992
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "result_29"
    shape = [1, 384, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00438736
    std = 0.658104
    data = None
