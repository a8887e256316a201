class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00347817
    std = 0.259857
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.0094
    std = 0.253881
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_18"
    shape = [1, 12, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0388155
    std = 0.561191
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_23"
    shape = [1, 12, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0168382
    std = 0.277968
    data = None
