class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "in_0"
    shape = [64, 4096]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = 1
    max_val = 1
    data = None
