class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "linear"
    shape = [4, 50, 576]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.000837792
    std = 0.381073
    data = None
