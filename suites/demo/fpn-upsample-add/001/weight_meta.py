class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_13"
    shape = [1, 256, 16, 16]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.973581
    std = 5.71619
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "last_inner"
    shape = [1, 256, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 7.67227
    std = 54.6537
    data = None
