class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00930124
    std = 0.249997
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.00083
    std = 0.238923
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_18"
    shape = [4, 24, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0366243
    std = 0.648829
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_23"
    shape = [4, 24, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0150172
    std = 0.287563
    data = None
