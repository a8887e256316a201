class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_0_modules_conv2_parameters_weight_"
    shape = [64, 64, 3, 3]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.000170859
    std = 0.0588794
    data = None
