import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.clone()
        tmp_1 = in_0.clone()
        return (tmp_0, tmp_1,)
