class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "hidden_states_7"
    shape = [1, 4, 256]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = -0.0224521
    std = 0.414885
    data = None
