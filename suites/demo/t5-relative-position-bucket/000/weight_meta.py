class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "relative_position"
    shape = [128, 128]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = -127
    max_val = 127
