class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_norm0_buffers_running_mean_"
    shape = [64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0745512
    std = 0.250617
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_norm0_buffers_running_var_"
    shape = [64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.11514
    std = 0.069474
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_norm0_parameters_bias_"
    shape = [64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0621637
    std = 0.237418
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_norm0_parameters_weight_"
    shape = [64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.960285
    std = 0.242153
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_1"
    shape = [2, 64, 64, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00151101
    std = 1.37665
    data = None
