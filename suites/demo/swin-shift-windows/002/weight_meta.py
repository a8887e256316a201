class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "layer_norm_3"
    shape = [1, 28, 28, 96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.021163
    std = 0.991353
    data = None
