class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "layer_norm_8"
    shape = [4, 14, 14, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0584003
    std = 1.08867
    data = None
