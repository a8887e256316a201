class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_4_modules_block_modules_0_modules_1_buffers_running_mean_"
    shape = [96]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.00849009
    std = 0.245418
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_4_modules_block_modules_0_modules_1_buffers_running_var_"
    shape = [96]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.12061
    std = 0.0719412
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_4_modules_block_modules_0_modules_1_parameters_bias_"
    shape = [96]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0415779
    std = 0.284571
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_4_modules_block_modules_0_modules_1_parameters_weight_"
    shape = [96]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.939606
    std = 0.277898
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_26"
    shape = [4, 96, 16, 16]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.144161
    std = 0.836881
    data = None
