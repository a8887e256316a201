class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "in_0"
    shape = [4, 16]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "in_1"
    shape = [4000, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.05
    std = 1.0
    data = None
