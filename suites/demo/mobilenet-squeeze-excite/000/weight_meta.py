class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_5_modules_block_modules_2_modules_fc1_parameters_bias_"
    shape = [32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0566664
    std = 0.250387
    data = [-0.0733518824, 0.0995400846, 0.157373041, 0.0310417749, 0.148321882, -0.32895118, 0.344016433, -0.0997404456, 0.0940082148, 0.431986451, 0.0382415354, 0.267614126, 0.213542968, -0.0490847006, 0.0198302865, -0.214389279, 0.125570938, 0.0422025099, -0.197240099, 0.102285102, 0.560529709, -0.396928072, 0.385627568, -0.41076529, -0.142646626, -0.242487893, -0.0309379082, 0.366014212, -0.116162308, 0.089348644, 0.536989629, 0.0619247444]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_5_modules_block_modules_2_modules_fc1_parameters_weight_"
    shape = [32, 120, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00105262
    std = 0.0299244
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_5_modules_block_modules_2_modules_fc2_parameters_bias_"
    shape = [120]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00534334
    std = 0.241109
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_features_modules_0_modules_5_modules_block_modules_2_modules_fc2_parameters_weight_"
    shape = [120, 32, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000252784
    std = 0.0305086
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_39"
    shape = [1, 120, 40, 40]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.119293
    std = 0.191324
    data = None
    min_val = 0.0
