class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_mean_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00404572
    std = 0.251107
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_var_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12796
    std = 0.0740294
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv5_modules_1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00217576
    std = 0.250899
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_conv5_modules_1_parameters_weight_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.988965
    std = 0.255836
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_147"
    shape = [8, 1024, 3, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00558782
    std = 0.164358
    data = None
