class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_mean_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0120843
    std = 0.24184
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_var_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12183
    std = 0.0719562
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv5_modules_1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0156033
    std = 0.243913
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_conv5_modules_1_parameters_weight_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.987176
    std = 0.255696
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_147"
    shape = [1, 1024, 4, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0031704
    std = 0.185943
    data = None
