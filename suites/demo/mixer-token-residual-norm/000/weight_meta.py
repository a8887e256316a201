class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_ffn2_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00746975
    std = 0.245811
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_ffn2_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.992251
    std = 0.257277
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_33"
    shape = [1, 12, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0396103
    std = 0.625793
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_41"
    shape = [1, 256, 12]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0275241
    std = 0.757424
    data = None
