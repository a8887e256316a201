class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_feature_extractor_modules_conv_layers_modules_1_modules_conv_parameters_weight_"
    shape = [128, 128, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000116887
    std = 0.0720115
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_3"
    shape = [1, 128, 799]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.289107
    std = 0.624654
    data = None
