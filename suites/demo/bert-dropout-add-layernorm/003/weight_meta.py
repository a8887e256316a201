class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_bias_"
    shape = [192]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00677416
    std = 0.252265
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_weight_"
    shape = [192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.999309
    std = 0.253748
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_4"
    shape = [1, 50, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00451949
    std = 0.573291
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "x_8"
    shape = [1, 50, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0224411
    std = 0.256386
    data = None
