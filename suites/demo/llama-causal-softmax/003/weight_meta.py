class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [16, 1, 128, 128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -1.68153e+38
    std = 1.69472e+38
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [16, 4, 128, 128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0011933
    std = 0.841855
    data = None
