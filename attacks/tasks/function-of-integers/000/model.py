import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.float()
        tmp_1 = torch.tanh(tmp_0)
        return (tmp_1,)
