import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = in_1 != 0
        tmp_1 = in_0.masked_select(tmp_0)
        return (tmp_1,)
