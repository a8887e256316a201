class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_45"
    shape = [1, 116, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.173442
    std = 0.270571
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_53"
    shape = [1, 116, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.14564
    std = 0.20595
    data = None
    min_val = 0.0
