class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "attn_weights_2"
    shape = [4, 4, 96, 96]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0104167
    std = 0.00112124
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "value_layer"
    shape = [4, 4, 96, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0421519
    std = 0.42531
    data = None
