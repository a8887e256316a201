import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.nn.functional.relu(in_0, inplace=False)
        tmp_1 = torch.log(tmp_0)
        return (tmp_1,)
