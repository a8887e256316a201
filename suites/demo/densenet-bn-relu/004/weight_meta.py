class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stage3_modules_0_modules_branch1_modules_3_buffers_running_mean_"
    shape = [116]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0246844
    std = 0.281063
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_stage3_modules_0_modules_branch1_modules_3_buffers_running_var_"
    shape = [116]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.11683
    std = 0.07034
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_stage3_modules_0_modules_branch1_modules_3_parameters_bias_"
    shape = [116]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0165432
    std = 0.237641
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_stage3_modules_0_modules_branch1_modules_3_parameters_weight_"
    shape = [116]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.984606
    std = 0.212886
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_43"
    shape = [8, 116, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00667083
    std = 0.206512
    data = None
