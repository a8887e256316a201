class Program_weight_tensor_meta_in_0:
    name = "in_0"
    original_name = "L_self_modules_rotary_emb_buffers_inv_freq_"
    shape = [32]
    dtype = "torch.bfloat16"
    device = "cpu"
    mean = 0.124982
    std = 0.240017
    data = [1.0, 0.75, 0.5625, 0.421875, 0.31640625, 0.237304688, 0.177734375, 0.133789062, 0.100097656, 0.0751953125, 0.0561523438, 0.0422363281, 0.0317382812, 0.0236816406, 0.0178222656, 0.0133056641, 0.0100097656, 0.00750732422, 0.00561523438, 0.00421142578, 0.00315856934, 0.0023651123, 0.00177764893, 0.00133514404, 0.000999450684, 0.000751495361, 0.000560760498, 0.000421524048, 0.000316619873, 0.000237464905, 0.000177383423, 0.000133514404]


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
