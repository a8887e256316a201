import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = torch.tanh(in_1)
        tmp_1 = torch.nn.functional.embedding(in_0, tmp_0)
        tmp_0 = None
        return (tmp_1,)
