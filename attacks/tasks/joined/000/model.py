import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = torch.cat([in_0, in_1], dim=-1)
        tmp_1 = tmp_0 > 1000
        return (tmp_1,)
