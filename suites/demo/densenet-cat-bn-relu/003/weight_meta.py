class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer2_modules_norm1_buffers_running_mean_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0278114
    std = 0.277691
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer2_modules_norm1_buffers_running_var_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.12405
    std = 0.0726184
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer2_modules_norm1_parameters_bias_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0113082
    std = 0.229378
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer2_modules_norm1_parameters_weight_"
    shape = [96]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.997223
    std = 0.252533
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_4"
    shape = [2, 64, 32, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.83933
    std = 0.980089
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "new_features"
    shape = [2, 32, 32, 32]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0200783
    std = 2.38084
    data = None
