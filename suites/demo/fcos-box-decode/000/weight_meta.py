class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [1000, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.082289
    std = 0.100365
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "boxes"
    shape = [1000, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 60.148
    std = 37.2289
    data = None
