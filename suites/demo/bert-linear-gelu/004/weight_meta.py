class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_intermediate_modules_dense_parameters_bias_"
    shape = [1024]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00889561
    std = 0.247321
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_intermediate_modules_dense_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -1.22188e-05
    std = 0.0199666
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_2"
    shape = [16, 128, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.011712
    std = 1.05569
    data = None
