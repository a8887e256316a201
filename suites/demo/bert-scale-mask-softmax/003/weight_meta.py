class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "matmul"
    shape = [2, 4, 64, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.000825893
    std = 1.0541
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "values_1"
    shape = [1, 4, 64, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0124896
    std = 0.0740185
    data = None
