class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "in_0"
    shape = [64, 256]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = None
