import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.nn.functional.gelu(in_0)
        tmp_1 = tmp_0 * 0.001
        return (tmp_1,)
