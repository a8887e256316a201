class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm1_buffers_running_mean_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0211211
    std = 0.26176
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm1_buffers_running_var_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.11754
    std = 0.0708744
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm1_parameters_bias_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0292849
    std = 0.195149
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm1_parameters_weight_"
    shape = [64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.965053
    std = 0.275927
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_4"
    shape = [2, 64, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.83774
    std = 1.07367
    data = None
    min_val = 0.0
