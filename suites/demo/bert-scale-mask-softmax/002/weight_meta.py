class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "matmul"
    shape = [1, 4, 128, 128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00265862
    std = 1.0485
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "values_1"
    shape = [1, 4, 128, 128]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.010301
    std = 0.0745033
    data = None
