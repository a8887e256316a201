import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = in_0.masked_fill(in_1, float('-inf'))
        tmp_1 = torch.nn.functional.softmax(tmp_0, dim=-1)
        return (tmp_1,)
