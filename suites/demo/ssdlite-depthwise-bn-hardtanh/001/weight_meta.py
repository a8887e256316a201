class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_2_modules_0_parameters_weight_"
    shape = [512, 256, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.67826e-05
    std = 0.0300091
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_2_modules_1_buffers_running_mean_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0106998
    std = 0.250685
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_2_modules_1_buffers_running_var_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12154
    std = 0.0728231
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_2_modules_1_parameters_bias_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00790588
    std = 0.253744
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_backbone_modules_extra_modules_0_modules_2_modules_1_parameters_weight_"
    shape = [512]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.982194
    std = 0.253767
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "input_137"
    shape = [1, 256, 5, 5]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.154771
    std = 0.225614
    data = None
    min_val = 0.0
