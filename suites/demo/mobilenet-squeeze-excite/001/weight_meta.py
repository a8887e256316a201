class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_11_modules_block_modules_2_modules_fc1_parameters_bias_"
    shape = [120]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0279045
    std = 0.258131
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_11_modules_block_modules_2_modules_fc1_parameters_weight_"
    shape = [120, 480, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 4.52462e-05
    std = 0.130027
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_11_modules_block_modules_2_modules_fc2_parameters_bias_"
    shape = [480]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000909753
    std = 0.239521
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_11_modules_block_modules_2_modules_fc2_parameters_weight_"
    shape = [480, 120, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000370108
    std = 0.0643528
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_89"
    shape = [1, 480, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0211252
    std = 0.169771
    data = None
