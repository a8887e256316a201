class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "attn_weights_3"
    shape = [2, 4, 64, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.015625
    std = 0.00450879
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "value_layer"
    shape = [2, 4, 64, 64]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0371017
    std = 0.423384
    data = None
