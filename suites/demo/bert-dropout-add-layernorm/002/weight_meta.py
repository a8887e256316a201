class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_attention_modules_output_modules_LayerNorm_parameters_bias_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0105818
    std = 0.248558
    data = None


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "L_self_modules_encoder_modules_layer_modules_0_modules_attention_modules_output_modules_LayerNorm_parameters_weight_"
    shape = [256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.988318
    std = 0.247374
    data = None
    min_val = 0.0


class Program_weight_tensor_meta_in_2:
    name = "in_2"
    original_name = "embeddings_3"
    shape = [16, 128, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.0197981
    std = 1.09456
    data = None


class Program_weight_tensor_meta_in_3:
    name = "in_3"
    original_name = "hidden_states"
    shape = [16, 128, 256]
    dtype = "torch.float16"
    device = "cpu"
    mean = -0.00761087
    std = 0.260058
    data = None
