class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_11"
    shape = [2, 256, 6, 6]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.27988
    std = 23.3545
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_9"
    shape = [2, 256, 3, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 3.5872
    std = 35.5692
    data = None
