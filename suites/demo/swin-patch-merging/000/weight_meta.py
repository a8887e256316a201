class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_6_modules_norm_parameters_bias_"
    shape = [1536]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0121839
    std = 0.250132
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_6_modules_norm_parameters_weight_"
    shape = [1536]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.00017
    std = 0.247275
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_121"
    shape = [1, 7, 7, 384]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.00559173
    std = 1.23628
    data = None
