class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "x_5"
    shape = [2, 64, 1024]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.0155571
    std = 0.392528
    data = None
