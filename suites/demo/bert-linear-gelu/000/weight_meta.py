class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layers_modules_0_modules_fc1_parameters_bias_"
    shape = [1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00737969
    std = 0.258489
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layers_modules_0_modules_fc1_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.6371e-05
    std = 0.0199732
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_5"
    shape = [1, 100, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0120189
    std = 1.07413
    data = None
