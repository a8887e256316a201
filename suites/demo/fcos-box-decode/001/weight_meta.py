class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [364, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.100993
    std = 0.128377
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "boxes"
    shape = [364, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 32.0
    std = 45.2704
    data = None
