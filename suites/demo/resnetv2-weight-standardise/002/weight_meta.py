class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stages_modules_0_modules_blocks_modules_0_modules_conv1_parameters_weight_"
    shape = [64, 64, 1, 1]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0033548
    std = 0.172276
    data = None
