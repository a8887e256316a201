class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "cos_2"
    shape = [1, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.584752
    std = 0.641511
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "key_states"
    shape = [2, 1, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -3.22672e-05
    std = 0.335974
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "query_states"
    shape = [2, 4, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00122443
    std = 0.334486
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "sin_2"
    shape = [1, 64, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.16855
    std = 0.467385
    data = None
