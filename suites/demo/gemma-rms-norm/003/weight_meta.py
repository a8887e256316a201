class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_input_layernorm_parameters_weight_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0144982
    std = 0.25238
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "inputs_embeds"
    shape = [16, 128, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.000296109
    std = 0.32071
    data = None
