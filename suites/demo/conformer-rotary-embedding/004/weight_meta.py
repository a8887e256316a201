class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "cos_1"
    shape = [24, 1, 1, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.691968
    std = 0.576843
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_28"
    shape = [24, 4, 4, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00621544
    std = 1.08382
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "sin_1"
    shape = [24, 1, 1, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.161358
    std = 0.403384
    data = None
