import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = torch.matmul(in_0, in_1);  in_0 = in_1 = None
        tmp_1 = tmp_0.transpose(1, 2);  tmp_0 = None
        tmp_2 = tmp_1.contiguous();  tmp_1 = None
        tmp_3 = tmp_2.reshape(8, 192, -1);  tmp_2 = None
        tmp_4 = tmp_3.contiguous();  tmp_3 = None
        return (tmp_4,)
