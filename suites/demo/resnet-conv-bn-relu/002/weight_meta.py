class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layer4_modules_0_modules_bn1_buffers_running_mean_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0040459
    std = 0.240652
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layer4_modules_0_modules_bn1_buffers_running_var_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.13377
    std = 0.0745584
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_layer4_modules_0_modules_bn1_parameters_bias_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0174587
    std = 0.245467
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_layer4_modules_0_modules_bn1_parameters_weight_"
    shape = [512]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.995712
    std = 0.236229
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_layer4_modules_0_modules_conv1_parameters_weight_"
    shape = [512, 256, 3, 3]
    dtype = "torch.float16"
    device = "cpu"
    mean = 6.74137e-06
    std = 0.0208379
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_41"
    shape = [2, 256, 4, 4]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.61017
    std = 1.92611
    data = None
    min_val = 0.0
