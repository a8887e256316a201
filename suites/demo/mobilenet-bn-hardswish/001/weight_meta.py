class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_9_modules_block_modules_0_modules_1_buffers_running_mean_"
    shape = [184]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00341777
    std = 0.251289
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_9_modules_block_modules_0_modules_1_buffers_running_var_"
    shape = [184]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12853
    std = 0.0757033
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_9_modules_block_modules_0_modules_1_parameters_bias_"
    shape = [184]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00305911
    std = 0.252921
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_9_modules_block_modules_0_modules_1_parameters_weight_"
    shape = [184]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.04576
    std = 0.264487
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_68"
    shape = [1, 184, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0511436
    std = 0.885841
    data = None
