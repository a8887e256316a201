import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = torch._C._nn.pad(in_2, (0, 0, 0, 0, 0, 0), 'constant', None);  in_2 = None
        tmp_1 = tmp_0[(Ellipsis, slice(0, None, 2), slice(0, None, 2), slice(None, None, None))]
        tmp_2 = tmp_0[(Ellipsis, slice(1, None, 2), slice(0, None, 2), slice(None, None, None))]
        tmp_3 = tmp_0[(Ellipsis, slice(0, None, 2), slice(1, None, 2), slice(None, None, None))]
        tmp_4 = tmp_0[(Ellipsis, slice(1, None, 2), slice(1, None, 2), slice(None, None, None))];  tmp_0 = None
        tmp_5 = torch.cat([tmp_1, tmp_2, tmp_3, tmp_4], -1);  tmp_1 = tmp_2 = tmp_3 = tmp_4 = None
        tmp_6 = torch.nn.functional.layer_norm(tmp_5, (384,), in_1, in_0, 1e-05);  tmp_5 = in_1 = in_0 = None
        return (tmp_6,)
