import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = torch.nn.functional.relu(in_0, inplace=False)
        tmp_1 = tmp_0 + in_1
        tmp_2 = torch.nn.functional.relu(tmp_1, inplace=False)
        tmp_3 = tmp_2 + in_1
        tmp_4 = torch.tanh(tmp_3)
        return (tmp_4,)
