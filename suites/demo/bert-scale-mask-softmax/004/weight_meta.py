class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "matmul"
    shape = [16, 4, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00173568
    std = 1.03279
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "values_1"
    shape = [1, 4, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0103015
    std = 0.0744998
    data = None
