class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_0_modules_1_buffers_running_mean_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0793681
    std = 0.328088
    data = [0.406599969, -0.241900146, 0.452943236, 0.399445117, -0.661617935, 0.317293048, 0.0253658704, 0.601791322, 0.179979816, -0.0963429734, -0.166196421, -0.0722499266, 0.348687828, -0.12667051, 0.0176525805, -0.114892058]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_0_modules_1_buffers_running_var_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.12386
    std = 0.0751865
    data = [1.13278747, 1.03553069, 1.1281085, 1.10334706, 1.02980423, 1.02945244, 1.19642806, 1.2481513, 1.12022412, 1.10861731, 1.05002832, 1.18991208, 1.05582476, 1.24655616, 1.21051407, 1.09648979]


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_0_modules_1_parameters_bias_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0640938
    std = 0.178534
    data = [0.283217311, -0.209544405, -0.122357212, 0.0133212972, 0.197126538, 0.0544042997, 0.0575661771, -0.177969009, -0.421830148, 0.0270087346, -0.0413180068, -0.200772196, -0.0771239772, -0.0356186777, -0.309937894, -0.0616741553]


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_0_modules_1_parameters_weight_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.983886
    std = 0.304579
    data = [0.994134545, 1.36164093, 0.920971215, 0.502688706, 1.09893084, 0.953281999, 0.751521111, 0.969232559, 0.373260975, 1.01158142, 0.844236314, 1.17865002, 1.03854132, 1.61257648, 1.29153204, 0.839393258]


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_1"
    shape = [2, 16, 32, 32]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0030689
    std = 0.615715
    data = None
