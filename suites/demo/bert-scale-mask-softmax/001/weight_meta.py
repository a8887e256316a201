class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [16, 1, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = -12282.0
    std = 25567.1
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [16, 4, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = -1.02368
    std = 1.47866
    data = None
