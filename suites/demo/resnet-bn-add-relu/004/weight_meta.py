class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_layer2_modules_1_modules_bn2_buffers_running_mean_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00350045
    std = 0.271566
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_layer2_modules_1_modules_bn2_buffers_running_var_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.12686
    std = 0.0730491
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_layer2_modules_1_modules_bn2_parameters_bias_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00318131
    std = 0.242847
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_layer2_modules_1_modules_bn2_parameters_weight_"
    shape = [128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.968933
    std = 0.241178
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "out_20"
    shape = [4, 128, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.880746
    std = 1.28346
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "out_24"
    shape = [4, 128, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0900177
    std = 1.82521
    data = None
