class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "relative_position"
    shape = [64, 64]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = -63
    max_val = 63
