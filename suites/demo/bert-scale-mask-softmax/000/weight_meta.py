class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [2, 1, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -2.11846e+37
    std = 8.20525e+37
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [2, 4, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.552277
    std = 1.76771
    data = None
