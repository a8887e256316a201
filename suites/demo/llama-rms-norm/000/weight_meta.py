class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_input_layernorm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.02088
    std = 0.279826
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "inputs_embeds"
    shape = [1, 128, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -4.89274e-05
    std = 0.0199083
    data = None
