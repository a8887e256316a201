class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layer2_modules_0_modules_bn1_buffers_running_mean_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.02399
    std = 0.258498
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layer2_modules_0_modules_bn1_buffers_running_var_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.12488
    std = 0.067924
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_layer2_modules_0_modules_bn1_parameters_bias_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00464916
    std = 0.250505
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_layer2_modules_0_modules_bn1_parameters_weight_"
    shape = [128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.99704
    std = 0.219614
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_layer2_modules_0_modules_conv1_parameters_weight_"
    shape = [128, 64, 3, 3]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.000149257
    std = 0.0415931
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_13"
    shape = [4, 64, 32, 32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.0952
    std = 1.17071
    data = None
    min_val = 0.0
