class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_features_modules_1_modules_block_modules_1_modules_fc1_parameters_bias_"
    shape = [8]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0150052
    std = 0.139461
    data = [-0.238731593, 0.159990996, -0.105441608, -0.168522164, 0.0270470548, 0.0944523439, 0.0576198362, 0.0535436086]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_features_modules_1_modules_block_modules_1_modules_fc1_parameters_weight_"
    shape = [8, 16, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0484054
    std = 0.521863
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_features_modules_1_modules_block_modules_1_modules_fc2_parameters_bias_"
    shape = [16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0867996
    std = 0.273828
    data = [0.338276267, 0.0109839868, 0.132134616, -0.226956174, -0.253119349, -0.587145507, -0.102738813, -0.197904512, -0.433527082, 0.114294551, -0.184861973, -0.338794708, -0.139952272, 0.369070649, 0.269317925, -0.157870561]


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_features_modules_1_modules_block_modules_1_modules_fc2_parameters_weight_"
    shape = [16, 8, 1, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0130646
    std = 0.331109
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_6"
    shape = [2, 16, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.112035
    std = 0.125492
    data = None
    min_val = 0.0
