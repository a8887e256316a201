import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch._C._nn.pad(in_0, (0, 0, 0, 0, 0, 0), 'constant', None);  in_0 = None
        tmp_1 = torch.roll(tmp_0, shifts = (-3, -3), dims = (1, 2));  tmp_0 = None
        tmp_2 = tmp_1.view(4, 2, 7, 2, 7, 192);  tmp_1 = None
        tmp_3 = tmp_2.permute(0, 1, 3, 2, 4, 5);  tmp_2 = None
        tmp_4 = tmp_3.reshape(16, 49, 192);  tmp_3 = None
        return (tmp_4,)
