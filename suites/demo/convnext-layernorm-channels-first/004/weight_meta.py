class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_4_modules_0_parameters_bias_"
    shape = [192]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0115155
    std = 0.233758
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_4_modules_0_parameters_weight_"
    shape = [192]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.02325
    std = 0.245898
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "result_11"
    shape = [2, 192, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00305114
    std = 0.484291
    data = None
