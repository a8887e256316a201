import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = in_1 * 0.1767766952966369;  in_1 = None
        tmp_1 = in_0.transpose(-2, -1);  in_0 = None
        tmp_2 = tmp_0.matmul(tmp_1);  tmp_0 = tmp_1 = None
        tmp_3 = tmp_2 + in_2;  tmp_2 = in_2 = None
        tmp_4 = torch.nn.functional.softmax(tmp_3, dim = -1);  tmp_3 = None
        tmp_5 = torch.nn.functional.dropout(tmp_4, p = 0.0, training = False);  tmp_4 = None
        return (tmp_5,)
