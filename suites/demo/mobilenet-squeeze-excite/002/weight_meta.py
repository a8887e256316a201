class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_backbone_modules_4_modules_block_modules_2_modules_fc1_parameters_bias_"
    shape = [24]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0533702
    std = 0.253225
    data = [0.0881347656, -0.143920898, -0.151245117, -0.204711914, -0.498535156, 0.297607422, 0.107543945, 0.358642578, 0.304931641, -0.114135742, -0.0484313965, 0.167480469, -0.231323242, -0.480957031, 0.0839233398, 0.0147323608, -0.0124053955, -0.187133789, -0.223266602, 0.184570312, -0.649902344, 0.0311584473, -0.0127944946, 0.0391540527]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_backbone_modules_4_modules_block_modules_2_modules_fc1_parameters_weight_"
    shape = [24, 72, 1, 1]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00221952
    std = 0.288158
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_backbone_modules_4_modules_block_modules_2_modules_fc2_parameters_bias_"
    shape = [72]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0618406
    std = 0.236771
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_backbone_modules_4_modules_block_modules_2_modules_fc2_parameters_weight_"
    shape = [72, 24, 1, 1]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00594581
    std = 0.16128
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "input_30"
    shape = [2, 72, 16, 16]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.159188
    std = 0.219807
    data = None
    min_val = 0.0
