class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_11"
    shape = [1, 256, 8, 8]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.838968
    std = 29.391
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_9"
    shape = [1, 256, 4, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 6.83331
    std = 45.1034
    data = None
