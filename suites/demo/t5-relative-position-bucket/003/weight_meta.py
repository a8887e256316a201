class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "relative_position"
    shape = [192, 192]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = -191
    max_val = 191
