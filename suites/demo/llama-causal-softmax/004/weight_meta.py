class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "mask"
    shape = [16, 1, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = -32496.1
    std = 32751.1
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "matmul"
    shape = [16, 4, 128, 128]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00119414
    std = 0.841767
    data = None
