class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_0_modules_downsample_modules_conv_parameters_weight_"
    shape = [256, 64, 1, 1]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.000741454
    std = 0.0874531
    data = None
