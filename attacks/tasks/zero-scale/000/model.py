import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = torch.nn.functional.relu(in_0, inplace=False)
        tmp_1 = tmp_0 * in_1
        tmp_2 = in_2 + tmp_1
        return (tmp_2,)
