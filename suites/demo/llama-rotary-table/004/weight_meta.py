class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_rotary_emb_buffers_inv_freq_"
    shape = [32]
    dtype = "torch.float16"
    device = "cpu"
    mean = 0.12494
    std = 0.240002
    data = [1.0, 0.75, 0.5625, 0.421630859, 0.316162109, 0.237182617, 0.177856445, 0.133300781, 0.0999755859, 0.075012207, 0.0562438965, 0.042175293, 0.0316162109, 0.0237121582, 0.0177764893, 0.0133361816, 0.0100021362, 0.00749969482, 0.00562286377, 0.00421524048, 0.00316238403, 0.00237083435, 0.0017786026, 0.00133323669, 0.00100040436, 0.00075006485, 0.00056219101, 0.000421762466, 0.000316143036, 0.000237107277, 0.00017786026, 0.000133395195]


class Program_weight_tensor_meta_in_1:
    name = "in_1"
    original_name = "float_1"
    shape = [1, 128, 1]
    dtype = "torch.float32"
    device = "cpu"
    mean = 63.5
    std = 37.0945
    data = None
    min_val = 0.0
