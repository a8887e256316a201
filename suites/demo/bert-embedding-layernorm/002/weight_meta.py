class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_kwargs_input_ids_"
    shape = [1, 128]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = 1
    max_val = 8


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_embeddings_modules_LayerNorm_parameters_bias_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.00916374
    std = 0.22811
    data = None


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "L_self_modules_embeddings_modules_LayerNorm_parameters_weight_"
    shape = [256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.00452
    std = 0.255589
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "L_self_modules_embeddings_modules_position_embeddings_parameters_weight_"
    shape = [512, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -1.29052e-05
    std = 0.0200271
    data = None


class Program_weight_tensor_meta_in_4:
    name = "in_4"
    original_name = "L_self_modules_embeddings_modules_token_type_embeddings_parameters_weight_"
    shape = [2, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = -0.00209139
    std = 0.019557
    data = None


class Program_weight_tensor_meta_in_5:
    name = "in_5"
    original_name = "L_self_modules_embeddings_modules_word_embeddings_parameters_weight_"
    shape = [1000, 256]
    dtype = "torch.float32"
    device = "cpu"
    mean = 1.44828e-05
    std = 0.0200148
    data = None


class Program_weight_tensor_meta_in_6:
    name = "in_6"
    original_name = "position_ids"
    shape = [1, 128]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = 1
    max_val = 112


class Program_weight_tensor_meta_in_7:
    name = "in_7"
    original_name = "token_type_ids"
    shape = [1, 128]
    dtype = "torch.int64"
    device = "cpu"
    mean = None
    std = None
    min_val = 0
    max_val = 0
