class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "hidden_states_7"
    shape = [1, 16, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0231752
    std = 0.436624
    data = None
