class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_blocks_modules_0_modules_norm1_parameters_bias_"
    shape = [192]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00724292
    std = 0.23552
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_blocks_modules_0_modules_norm1_parameters_weight_"
    shape = [192]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.991881
    std = 0.260305
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_parameters_cls_token_"
    shape = [1, 1, 192]
    dtype = "torch.float16"
    device = "cpu"
    mean = 4.40826e-08
    std = 9.94135e-07
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_parameters_pos_embed_"
    shape = [1, 50, 192]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.000104827
    std = 0.0199724
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "x"
    shape = [4, 192, 7, 7]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00163702
    std = 0.5781
    data = None
