class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_buffers_running_mean_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0039796
    std = 0.245906
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_buffers_running_var_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.13255
    std = 0.0709756
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 3.80725e-05
    std = 0.262831
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_batch_norm_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.00078
    std = 0.258651
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_encoder_modules_layers_modules_0_modules_conv_module_modules_depthwise_conv_parameters_weight_"
    shape = [256, 1, 31]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.000739654
    std = 0.252693
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "hidden_states_36"
    shape = [1, 512, 12]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0406164
    std = 1.52093
    data = None
