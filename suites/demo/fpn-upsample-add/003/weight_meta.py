class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_13"
    shape = [2, 256, 12, 12]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.577391
    std = 4.30917
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "last_inner"
    shape = [2, 256, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 4.86708
    std = 43.5405
    data = None
