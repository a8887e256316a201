class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_7_modules_block_modules_0_modules_1_buffers_running_mean_"
    shape = [240]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00838898
    std = 0.220594
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_7_modules_block_modules_0_modules_1_buffers_running_var_"
    shape = [240]
    dtype = "torch.float16"
    device = "cpu"
    mean = 1.1229
    std = 0.0750276
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_7_modules_block_modules_0_modules_1_parameters_bias_"
    shape = [240]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0192444
    std = 0.257679
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_7_modules_block_modules_0_modules_1_parameters_weight_"
    shape = [240]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.973149
    std = 0.259444
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_52"
    shape = [2, 240, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00247015
    std = 0.399139
    data = None
