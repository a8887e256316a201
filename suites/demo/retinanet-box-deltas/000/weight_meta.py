class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [1000, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.0334056
    std = 0.431311
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "ctr_x"
    shape = [1000]
    dtype = "torch.float32"
    device = "cpu"
    mean = 69.608
    std = 24.4477
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "ctr_y"
    shape = [1000]
    dtype = "torch.float32"
    device = "cpu"
    mean = 64.6
    std = 26.3177
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "heights"
    shape = [1000]
    dtype = "torch.float32"
    device = "cpu"
    mean = 40.566
    std = 9.34382
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "widths"
    shape = [1000]
    dtype = "torch.float32"
    device = "cpu"
    mean = 41.472
    std = 13.8498
    data = None
    min_val = 0.0
