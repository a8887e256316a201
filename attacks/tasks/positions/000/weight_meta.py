class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "in_0"
    shape = [1, 16]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    data = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "in_1"
    shape = [40, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.05
    std = 1.0
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "in_2"
    shape = [1, 16, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.05
    std = 1.0
    data = None
