import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3, in_4, in_5):
        tmp_0 = torch.nn.functional.batch_norm(in_5, in_0, in_1, in_3, in_2, False, 0.1, 1e-05);  in_5 = in_0 = in_1 = in_3 = in_2 = None
        tmp_0 += in_4;  tmp_1 = tmp_0;  tmp_0 = in_4 = None
        tmp_2 = torch.nn.functional.relu(tmp_1, inplace = True);  tmp_1 = None
        return (tmp_2,)
