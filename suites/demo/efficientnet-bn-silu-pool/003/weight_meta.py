class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_2_modules_0_modules_block_modules_1_modules_1_buffers_running_mean_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0466088
    std = 0.244216
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_2_modules_0_modules_block_modules_1_modules_1_buffers_running_var_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.12349
    std = 0.0746436
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_2_modules_0_modules_block_modules_1_modules_1_parameters_bias_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00847612
    std = 0.251081
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_2_modules_0_modules_block_modules_1_modules_1_parameters_weight_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.98791
    std = 0.239095
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_13"
    shape = [4, 96, 32, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00178097
    std = 0.0282548
    data = None
