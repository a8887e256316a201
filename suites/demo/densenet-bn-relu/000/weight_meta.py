class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm2_buffers_running_mean_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00536113
    std = 0.245866
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm2_buffers_running_var_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.13643
    std = 0.0708045
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm2_parameters_bias_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0194439
    std = 0.268089
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_denseblock1_modules_denselayer1_modules_norm2_parameters_weight_"
    shape = [128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.00118
    std = 0.295808
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "bottleneck_output"
    shape = [1, 128, 32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0220731
    std = 2.88796
    data = None
