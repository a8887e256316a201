class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_5_modules_block_modules_2_modules_fc1_parameters_bias_"
    shape = [64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0168819
    std = 0.205085
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_5_modules_block_modules_2_modules_fc1_parameters_weight_"
    shape = [64, 240, 1, 1]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.00113043
    std = 0.176148
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_5_modules_block_modules_2_modules_fc2_parameters_bias_"
    shape = [240]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0150014
    std = 0.257834
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_5_modules_block_modules_2_modules_fc2_parameters_weight_"
    shape = [240, 64, 1, 1]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.000176234
    std = 0.091629
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_40"
    shape = [4, 240, 8, 8]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0177276
    std = 0.154105
    data = None
