class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_intermediate_modules_dense_parameters_bias_"
    shape = [1024]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0110915
    std = 0.251568
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_intermediate_modules_dense_parameters_weight_"
    shape = [1024, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -1.22216e-05
    std = 0.0199667
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "hidden_states_2"
    shape = [2, 64, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0208642
    std = 1.09364
    data = None
