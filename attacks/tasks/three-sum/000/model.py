import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = torch.tanh(in_2)
        tmp_1 = in_0 + in_1
        tmp_2 = tmp_1 + tmp_0
        return (tmp_2,)
