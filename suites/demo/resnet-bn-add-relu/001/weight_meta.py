class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_body_modules_layer3_modules_1_modules_bn3_buffers_running_mean_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00651216
    std = 0.248756
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_body_modules_layer3_modules_1_modules_bn3_buffers_running_var_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12632
    std = 0.0744517
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_body_modules_layer3_modules_1_modules_bn3_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000848062
    std = 0.256861
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_body_modules_layer3_modules_1_modules_bn3_parameters_weight_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.995297
    std = 0.258695
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "out_79"
    shape = [2, 1024, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 2.17813
    std = 3.32878
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_86"
    shape = [2, 1024, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00709482
    std = 4.5027
    data = None
