class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "hidden_states_1"
    shape = [1, 1024, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.01297
    std = 0.285825
    data = None
