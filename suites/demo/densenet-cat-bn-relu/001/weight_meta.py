class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_denseblock4_modules_denselayer1_modules_norm1_buffers_running_mean_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0119003
    std = 0.242072
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_denseblock4_modules_denselayer1_modules_norm1_buffers_running_var_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.13211
    std = 0.0748933
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_denseblock4_modules_denselayer1_modules_norm1_parameters_bias_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00322547
    std = 0.259933
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_denseblock4_modules_denselayer1_modules_norm1_parameters_weight_"
    shape = [512]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.985212
    std = 0.250206
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_19"
    shape = [2, 512, 2, 2]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0603867
    std = 1.8476
    data = None
