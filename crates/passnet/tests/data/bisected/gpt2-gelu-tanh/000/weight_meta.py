class Program_weight_tensor_meta_in_0:
    name = 'in_0'
    original_name = 'x_5'
    shape = [1, 128, 1024]
    dtype = 'torch.float32'
    device = 'cpu'
    mean = -0.0155979
    std = 0.392547
    data = None
