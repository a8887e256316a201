class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "linear"
    shape = [1, 50, 576]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0117825
    std = 0.379689
    data = None
