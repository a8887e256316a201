class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_mlp_modules_up_proj_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -2.7269e-05
    std = 0.0199354
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_8"
    shape = [2, 64, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0174562
    std = 0.989806
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "linear_4"
    shape = [2, 64, 1024]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0014431
    std = 0.316256
    data = None
