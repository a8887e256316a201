class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_block_modules_0_modules_layer_modules_0_modules_layer_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.988919
    std = 0.261174
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states"
    shape = [2, 64, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0012161
    std = 0.997872
    data = None
