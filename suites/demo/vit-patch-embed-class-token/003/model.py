import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3, in_4):
        tmp_0 = in_4.flatten(2);  in_4 = None
        tmp_1 = tmp_0.transpose(1, 2);  tmp_0 = None
        tmp_2 = in_2.expand(4, -1, -1);  in_2 = None
        tmp_3 = torch.cat([tmp_2, tmp_1], dim = 1);  tmp_2 = tmp_1 = None
        tmp_4 = tmp_3 + in_3;  tmp_3 = in_3 = None
        tmp_5 = torch.nn.functional.dropout(tmp_4, 0.0, False, False);  tmp_4 = None
        tmp_6 = torch.nn.functional.layer_norm(tmp_5, (192,), in_1, in_0, 1e-06);  in_1 = in_0 = None
        return (tmp_5, tmp_6)
