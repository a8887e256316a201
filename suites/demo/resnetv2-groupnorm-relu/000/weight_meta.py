class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_head_modules_classification_head_modules_conv_modules_1_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0141942
    std = 0.251481
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_head_modules_classification_head_modules_conv_modules_1_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.986465
    std = 0.242048
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "input_15"
    shape = [1, 256, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 2.25888
    std = 26.18
    data = None
