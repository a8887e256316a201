class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "hidden_states_1"
    shape = [1, 256, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0130023
    std = 0.279352
    data = None
