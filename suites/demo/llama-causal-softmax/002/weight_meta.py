class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [2, 1, 64, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -1.67483e+38
    std = 1.70131e+38
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [2, 4, 64, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00449
    std = 0.912509
    data = None
