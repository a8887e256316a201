class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_3_modules_1_modules_block_modules_1_modules_1_buffers_running_mean_"
    shape = [240]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00908674
    std = 0.251919
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_3_modules_1_modules_block_modules_1_modules_1_buffers_running_var_"
    shape = [240]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.11423
    std = 0.0724052
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_3_modules_1_modules_block_modules_1_modules_1_parameters_bias_"
    shape = [240]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00068965
    std = 0.24259
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_3_modules_1_modules_block_modules_1_modules_1_parameters_weight_"
    shape = [240]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.02494
    std = 0.252385
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_40"
    shape = [2, 240, 8, 8]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00101345
    std = 0.0184536
    data = None
