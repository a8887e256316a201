class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_extra_modules_2_modules_0_modules_0_parameters_weight_"
    shape = [128, 256, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00015993
    std = 0.0300432
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_extra_modules_2_modules_0_modules_1_buffers_running_mean_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00468997
    std = 0.235759
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_extra_modules_2_modules_0_modules_1_buffers_running_var_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12442
    std = 0.0723236
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_extra_modules_2_modules_0_modules_1_parameters_bias_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00509654
    std = 0.253165
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_backbone_modules_extra_modules_2_modules_0_modules_1_parameters_weight_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.981166
    std = 0.277747
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "input_149"
    shape = [1, 256, 3, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.127354
    std = 0.211641
    data = None
    min_val = 0.0
