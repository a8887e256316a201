class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_mlp_modules_up_proj_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -2.71585e-05
    std = 0.0199355
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_8"
    shape = [1, 128, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0371765
    std = 0.989126
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "linear_4"
    shape = [1, 128, 1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00167978
    std = 0.316425
    data = None
