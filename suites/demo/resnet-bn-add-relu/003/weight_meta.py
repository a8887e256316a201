class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layer1_modules_0_modules_bn2_buffers_running_mean_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0245232
    std = 0.241874
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layer1_modules_0_modules_bn2_buffers_running_var_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.11004
    std = 0.0749523
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_layer1_modules_0_modules_bn2_parameters_bias_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0136219
    std = 0.239584
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_layer1_modules_0_modules_bn2_parameters_weight_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.972954
    std = 0.24869
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "out_3"
    shape = [2, 64, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.135273
    std = 0.906776
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "x_3"
    shape = [2, 64, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.430538
    std = 0.355243
    data = None
    min_val = 0.0
