class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_stem_modules_conv_parameters_weight_"
    shape = [64, 3, 7, 7]
    dtype = "torch.float32"
    device = "cpu"
    mean = -4.73408e-05
    std = 0.0250688
    data = None
