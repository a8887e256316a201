import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0 * 2.0
        tmp_1 = tmp_0 + 1.0
        return (tmp_1,)
