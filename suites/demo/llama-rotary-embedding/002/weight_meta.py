class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "cos_2"
    shape = [1, 128, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.503766
    std = 0.680322
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "key_states"
    shape = [1, 2, 128, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00138828
    std = 0.337075
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "query_states"
    shape = [1, 4, 128, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00151762
    std = 0.339803
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "sin_2"
    shape = [1, 128, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.170002
    std = 0.504547
    data = None
