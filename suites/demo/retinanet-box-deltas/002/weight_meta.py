class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [3234, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0486752
    std = 0.302329
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "ctr_x"
    shape = [3234]
    dtype = "torch.float32"
    device = "cpu"
    mean = 160.0
    std = 91.8747
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "ctr_y"
    shape = [3234]
    dtype = "torch.float32"
    device = "cpu"
    mean = 160.0
    std = 91.8747
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "heights"
    shape = [3234]
    dtype = "torch.float32"
    device = "cpu"
    mean = 90.5778
    std = 49.9775
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "widths"
    shape = [3234]
    dtype = "torch.float32"
    device = "cpu"
    mean = 90.5778
    std = 49.9775
    data = None
    min_val = 0.0
