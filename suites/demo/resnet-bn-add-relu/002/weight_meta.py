class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layer4_modules_1_modules_bn2_buffers_running_mean_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.00353453
    std = 0.247889
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layer4_modules_1_modules_bn2_buffers_running_var_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.12541
    std = 0.0724762
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_layer4_modules_1_modules_bn2_parameters_bias_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0102341
    std = 0.255442
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_layer4_modules_1_modules_bn2_parameters_weight_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.995365
    std = 0.259288
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "out_48"
    shape = [2, 512, 2, 2]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.0445
    std = 1.54841
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_52"
    shape = [2, 512, 2, 2]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0198463
    std = 1.19355
    data = None
