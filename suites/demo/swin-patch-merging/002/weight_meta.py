class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_2_modules_norm_parameters_bias_"
    shape = [384]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0166103
    std = 0.249637
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_2_modules_norm_parameters_weight_"
    shape = [384]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.998203
    std = 0.252334
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_23"
    shape = [1, 28, 28, 96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00491536
    std = 1.21241
    data = None
