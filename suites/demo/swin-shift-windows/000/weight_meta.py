class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "layer_norm_8"
    shape = [1, 14, 14, 192]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0138107
    std = 1.01658
    data = None
