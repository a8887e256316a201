class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_16"
    shape = [2, 58, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.177072
    std = 0.267103
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_8"
    shape = [2, 58, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.130808
    std = 0.218867
    data = None
    min_val = 0.0
