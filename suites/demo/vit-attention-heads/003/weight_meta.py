class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "linear"
    shape = [4, 50, 576]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.000836996
    std = 0.381079
    data = None
