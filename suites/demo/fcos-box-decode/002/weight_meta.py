class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [91, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.106746
    std = 0.134835
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "boxes"
    shape = [91, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0
    std = 64.0881
    data = None
