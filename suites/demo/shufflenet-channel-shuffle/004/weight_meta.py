class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_45"
    shape = [8, 116, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.189249
    std = 0.253677
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_53"
    shape = [8, 116, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.179521
    std = 0.250393
    data = None
    min_val = 0.0
