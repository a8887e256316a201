class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "relative_position"
    shape = [96, 96]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = -95
    max_val = 95
