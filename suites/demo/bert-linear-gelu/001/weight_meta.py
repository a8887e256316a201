class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_fc1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0027221
    std = 0.251741
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layers_modules_0_modules_fc1_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.15521e-05
    std = 0.0199731
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_5"
    shape = [4, 64, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0263807
    std = 1.07209
    data = None
