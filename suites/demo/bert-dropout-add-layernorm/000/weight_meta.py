class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00358048
    std = 0.25094
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.996601
    std = 0.245737
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "attn_output_3"
    shape = [1, 12, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0359369
    std = 0.274517
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_25"
    shape = [1, 12, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0218312
    std = 1.03056
    data = None
