import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.t()
        tmp_1 = tmp_0.contiguous()
        return (tmp_1,)
