class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "in_0"
    shape = [8, 96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.05
    std = 1.0
    data = None
