class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_body_modules_layer1_modules_1_modules_bn3_buffers_running_mean_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.017086
    std = 0.257058
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_body_modules_layer1_modules_1_modules_bn3_buffers_running_var_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.13127
    std = 0.0732312
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_body_modules_layer1_modules_1_modules_bn3_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00237252
    std = 0.243389
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_body_modules_layer1_modules_1_modules_bn3_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.0054
    std = 0.2672
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "out_16"
    shape = [1, 256, 32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000282811
    std = 0.968287
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_9"
    shape = [1, 256, 32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.357056
    std = 0.540862
    data = None
    min_val = 0.0
