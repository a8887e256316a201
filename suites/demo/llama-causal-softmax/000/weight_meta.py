class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [1, 1, 128, 128]
    dtype = "torch.float32"
    device = "cpu"
    mean = -1.68812e+38
    std = 1.70141e+38
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [1, 4, 128, 128]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00477114
    std = 0.914473
    data = None
