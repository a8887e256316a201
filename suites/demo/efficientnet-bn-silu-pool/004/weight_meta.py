class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_4_modules_1_modules_block_modules_1_modules_1_buffers_running_mean_"
    shape = [480]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00145097
    std = 0.245263
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_4_modules_1_modules_block_modules_1_modules_1_buffers_running_var_"
    shape = [480]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.1221
    std = 0.0711029
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_4_modules_1_modules_block_modules_1_modules_1_parameters_bias_"
    shape = [480]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.023404
    std = 0.257476
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_4_modules_1_modules_block_modules_1_modules_1_parameters_weight_"
    shape = [480]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.997078
    std = 0.237099
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_58"
    shape = [8, 480, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000577118
    std = 0.0121623
    data = None
