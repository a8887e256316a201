class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_mean_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00836389
    std = 0.250947
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_var_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12905
    std = 0.0718018
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv5_modules_1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00928296
    std = 0.247631
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_conv5_modules_1_parameters_weight_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.998518
    std = 0.241668
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_147"
    shape = [2, 1024, 2, 2]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0060572
    std = 0.158647
    data = None
