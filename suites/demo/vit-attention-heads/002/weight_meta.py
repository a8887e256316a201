class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "linear"
    shape = [1, 50, 576]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0117758
    std = 0.379681
    data = None
