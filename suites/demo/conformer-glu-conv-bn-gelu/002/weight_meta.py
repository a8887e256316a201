class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_buffers_running_mean_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00397777
    std = 0.245906
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_buffers_running_var_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.13255
    std = 0.0709777
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 4.04771e-05
    std = 0.262834
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.00079
    std = 0.258676
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_depthwise_conv_parameters_weight_"
    shape = [256, 1, 31]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000739093
    std = 0.252695
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "hidden_states_36"
    shape = [1, 512, 12]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0405634
    std = 1.52103
    data = None
