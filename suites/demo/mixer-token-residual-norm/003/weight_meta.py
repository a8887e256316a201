class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_bias_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0178922
    std = 0.263722
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_weight_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.01177
    std = 0.246796
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_1"
    shape = [1, 49, 512]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000861215
    std = 1.04341
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "x_5"
    shape = [1, 512, 49]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.023981
    std = 0.482268
    data = None
