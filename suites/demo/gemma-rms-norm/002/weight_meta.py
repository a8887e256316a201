class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_input_layernorm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.015903
    std = 0.254965
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "inputs_embeds"
    shape = [2, 64, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0025507
    std = 0.320477
    data = None
