class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_mean_"
    shape = [1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00496314
    std = 0.254976
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv5_modules_1_buffers_running_var_"
    shape = [1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.12587
    std = 0.0716012
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv5_modules_1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.000565721
    std = 0.252193
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_conv5_modules_1_parameters_weight_"
    shape = [1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.00543
    std = 0.254033
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_147"
    shape = [4, 1024, 4, 4]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0079465
    std = 0.179295
    data = None
