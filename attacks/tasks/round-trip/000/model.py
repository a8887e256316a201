import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.half()
        tmp_1 = tmp_0.float()
        return (tmp_1,)
