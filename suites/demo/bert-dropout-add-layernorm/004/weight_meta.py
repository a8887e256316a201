class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_bias_"
    shape = [192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.016158
    std = 0.217698
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_weight_"
    shape = [192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.03043
    std = 0.268064
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_4"
    shape = [4, 50, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00171018
    std = 0.572576
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "x_8"
    shape = [4, 50, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.041675
    std = 0.275709
    data = None
