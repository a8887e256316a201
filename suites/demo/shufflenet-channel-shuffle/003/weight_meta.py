class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "input_45"
    shape = [4, 116, 8, 8]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.167564
    std = 0.243395
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "input_53"
    shape = [4, 116, 8, 8]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.178936
    std = 0.26036
    data = None
    min_val = 0.0
