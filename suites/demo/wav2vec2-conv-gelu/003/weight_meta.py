class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_args_0_"
    shape = [1, 80, 200]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00758036
    std = 0.987187
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv1_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.012483
    std = 0.24767
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_conv1_parameters_weight_"
    shape = [256, 80, 3]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00013765
    std = 0.0200527
    data = None
