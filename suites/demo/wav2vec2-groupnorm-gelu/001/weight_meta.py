class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_feature_extractor_modules_conv_layers_modules_0_modules_layer_norm_parameters_bias_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0122642
    std = 0.231227
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_feature_extractor_modules_conv_layers_modules_0_modules_layer_norm_parameters_weight_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.995936
    std = 0.253675
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_1"
    shape = [1, 128, 799]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.000178118
    std = 1.37891
    data = None
