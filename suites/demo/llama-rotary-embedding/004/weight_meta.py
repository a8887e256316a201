class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "cos_2"
    shape = [1, 128, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.503779
    std = 0.680317
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "key_states"
    shape = [16, 2, 128, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.00102633
    std = 0.323254
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "query_states"
    shape = [16, 4, 128, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00082698
    std = 0.325277
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "sin_2"
    shape = [1, 128, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.170018
    std = 0.504546
    data = None
