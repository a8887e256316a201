class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_conv2_parameters_bias_"
    shape = [256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.000544727
    std = 0.247353
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_conv2_parameters_weight_"
    shape = [256, 256, 3]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -5.36521e-05
    std = 0.0200093
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "inputs_embeds"
    shape = [1, 256, 200]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0510354
    std = 0.207301
    data = None
