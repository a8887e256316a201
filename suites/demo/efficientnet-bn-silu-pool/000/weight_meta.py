class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_2_modules_1_modules_block_modules_1_modules_1_buffers_running_mean_"
    shape = [144]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00636352
    std = 0.224362
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_2_modules_1_modules_block_modules_1_modules_1_buffers_running_var_"
    shape = [144]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.1314
    std = 0.0717344
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_2_modules_1_modules_block_modules_1_modules_1_parameters_bias_"
    shape = [144]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0051926
    std = 0.262476
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_2_modules_1_modules_block_modules_1_modules_1_parameters_weight_"
    shape = [144]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.02655
    std = 0.271428
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_22"
    shape = [1, 144, 32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00223816
    std = 0.0268958
    data = None
