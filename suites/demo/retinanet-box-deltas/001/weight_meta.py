class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_rel_codes_"
    shape = [819, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0127335
    std = 0.239023
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "ctr_x"
    shape = [819]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0
    std = 0.0
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "ctr_y"
    shape = [819]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.0
    std = 0.0
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "heights"
    shape = [819]
    dtype = "torch.float32"
    device = "cpu"
    mean = 682.667
    std = 232.09
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "widths"
    shape = [819]
    dtype = "torch.float32"
    device = "cpu"
    mean = 682.667
    std = 232.09
    data = None
    min_val = 0.0
