class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00348571
    std = 0.259832
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_self_attn_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 1.00942
    std = 0.253852
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_18"
    shape = [1, 12, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0387958
    std = 0.561352
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states_23"
    shape = [1, 12, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0168853
    std = 0.278042
    data = None
