import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = torch.nn.functional.dropout(in_0, 0.1, False, False)
        tmp_1 = torch.nn.functional.relu(tmp_0, inplace=False)
        tmp_2 = torch.tanh(tmp_1)
        tmp_3 = torch.sigmoid(tmp_2)
        return (tmp_3,)
