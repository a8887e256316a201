class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "attn_weights_2"
    shape = [8, 4, 192, 192]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00520833
    std = 0.000609549
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "value_layer"
    shape = [8, 4, 192, 64]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0165185
    std = 0.432641
    data = None
