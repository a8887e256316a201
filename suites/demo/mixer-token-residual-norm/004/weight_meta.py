class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_bias_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0231336
    std = 0.253284
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_blocks_modules_0_modules_norm2_parameters_weight_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.01182
    std = 0.231555
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_1"
    shape = [4, 49, 512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0186752
    std = 1.03283
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "x_5"
    shape = [4, 512, 49]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0249061
    std = 0.480594
    data = None
