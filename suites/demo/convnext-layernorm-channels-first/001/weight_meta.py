class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_classifier_modules_0_parameters_bias_"
    shape = [768]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.00208468
    std = 0.263081
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_classifier_modules_0_parameters_weight_"
    shape = [768]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.996384
    std = 0.249168
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "x_12"
    shape = [2, 768, 1, 1]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.027706
    std = 0.868564
    data = None
