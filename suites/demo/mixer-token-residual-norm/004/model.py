import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3):
        tmp_0 = torch.nn.functional.dropout(in_3, 0.0, False, False);  in_3 = None
        tmp_1 = tmp_0.transpose(1, 2);  tmp_0 = None
        tmp_2 = in_2 + tmp_1;  in_2 = tmp_1 = None
        tmp_3 = torch.nn.functional.layer_norm(tmp_2, (512,), in_1, in_0, 1e-06);  in_1 = in_0 = None
        return (tmp_3, tmp_2)
