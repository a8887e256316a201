import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.abs(in_0)
        tmp_1 = tmp_0.mean(-1, keepdim=True)
        tmp_2 = tmp_1 + 1e-05
        tmp_3 = tmp_0 / tmp_2
        return (tmp_3,)
