class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_45"
    shape = [2, 116, 4, 4]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.17827
    std = 0.282603
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_53"
    shape = [2, 116, 4, 4]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.156201
    std = 0.254957
    data = None
    min_val = 0.0
