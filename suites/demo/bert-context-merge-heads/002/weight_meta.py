class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "attn_weights_3"
    shape = [16, 4, 128, 128]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.00781249
    std = 0.00419285
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "value_layer"
    shape = [16, 4, 128, 64]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.0238055
    std = 0.434206
    data = None
