import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.clamp(in_0, -60.0, 60.0)
        return (tmp_0,)
