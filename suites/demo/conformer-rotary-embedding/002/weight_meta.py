class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "cos_1"
    shape = [12, 1, 1, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.77393
    std = 0.501518
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "hidden_states_28"
    shape = [12, 1, 4, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00311118
    std = 1.0865
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "sin_1"
    shape = [12, 1, 1, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.153993
    std = 0.355373
    data = None
