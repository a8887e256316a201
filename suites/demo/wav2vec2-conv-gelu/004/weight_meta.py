class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_args_0_"
    shape = [4, 80, 128]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00701074
    std = 0.997437
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv1_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00681349
    std = 0.252512
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv1_parameters_weight_"
    shape = [256, 80, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000214043
    std = 0.0200714
    data = None
