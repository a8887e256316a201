class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_8_modules_block_modules_0_modules_1_buffers_running_mean_"
    shape = [200]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00131507
    std = 0.247839
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_8_modules_block_modules_0_modules_1_buffers_running_var_"
    shape = [200]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12718
    std = 0.0717444
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_8_modules_block_modules_0_modules_1_parameters_bias_"
    shape = [200]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.013662
    std = 0.256981
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_8_modules_block_modules_0_modules_1_parameters_weight_"
    shape = [200]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.01196
    std = 0.247689
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_60"
    shape = [1, 200, 20, 20]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.011028
    std = 0.10026
    data = None
