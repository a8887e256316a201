import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3):
        tmp_0 = torch.nn.functional.dropout(in_3, 0.1, False, False);  in_3 = None
        tmp_1 = tmp_0 * 0.5;  tmp_0 = None
        tmp_2 = tmp_1 + in_2;  tmp_1 = in_2 = None
        tmp_3 = torch.nn.functional.layer_norm(tmp_2, (256,), in_1, in_0, 1e-05);  in_1 = in_0 = None
        return (tmp_2, tmp_3)
