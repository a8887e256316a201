class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_feature_extractor_modules_conv_layers_modules_5_modules_conv_parameters_weight_"
    shape = [128, 128, 2]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -2.604e-05
    std = 0.0886903
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_11"
    shape = [4, 128, 99]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.131646
    std = 0.367712
    data = None
