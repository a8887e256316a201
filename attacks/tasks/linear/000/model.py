import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = torch.nn.functional.linear(in_0, in_1, in_2)
        tmp_1 = torch.nn.functional.relu(tmp_0, inplace=False)
        return (tmp_1,)
