class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_ffn2_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0113755
    std = 0.252646
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_ffn2_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.01006
    std = 0.231658
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_33"
    shape = [4, 24, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0171614
    std = 0.731385
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_41"
    shape = [4, 256, 24]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0687625
    std = 1.18989
    data = None
