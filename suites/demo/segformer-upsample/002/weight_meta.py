class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "hidden_states_3"
    shape = [1, 64, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0191942
    std = 0.323573
    data = None
