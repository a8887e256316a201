import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = in_2.permute(0, 2, 3, 1);  in_2 = None
        tmp_1 = torch.nn.functional.layer_norm(tmp_0, (96,), in_1, in_0, 1e-06);  tmp_0 = in_1 = in_0 = None
        tmp_2 = tmp_1.permute(0, 3, 1, 2);  tmp_1 = None
        return (tmp_2,)
