class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_0_modules_0_parameters_weight_"
    shape = [256, 480, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -6.95916e-05
    std = 0.0299487
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_0_modules_1_buffers_running_mean_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0106655
    std = 0.254139
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_0_modules_1_buffers_running_var_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12425
    std = 0.0730605
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_0_modules_1_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00921921
    std = 0.244012
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_0_modules_1_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.00895
    std = 0.241765
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "input_131"
    shape = [1, 480, 10, 10]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0098804
    std = 0.195698
    data = None
