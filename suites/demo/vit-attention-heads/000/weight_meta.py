class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "linear"
    shape = [1, 50, 576]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0117579
    std = 0.37972
    data = None
