import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0 > 0
        tmp_1 = tmp_0.to(torch.int64);  tmp_0 = None
        tmp_2 = tmp_1 * 16;  tmp_1 = None
        tmp_3 = 0 + tmp_2;  tmp_2 = None
        tmp_4 = torch.abs(in_0);  in_0 = None
        tmp_5 = tmp_4 < 8
        tmp_6 = tmp_4.float()
        tmp_7 = tmp_6 / 8;  tmp_6 = None
        tmp_8 = torch.log(tmp_7);  tmp_7 = None
        tmp_9 = tmp_8 / 2.772588722239781;  tmp_8 = None
        tmp_10 = tmp_9 * 8;  tmp_9 = None
        tmp_11 = tmp_10.to(torch.int64);  tmp_10 = None
        tmp_12 = 8 + tmp_11;  tmp_11 = None
        tmp_13 = torch.full_like(tmp_12, 15)
        tmp_14 = torch.min(tmp_12, tmp_13);  tmp_12 = tmp_13 = None
        tmp_15 = torch.where(tmp_5, tmp_4, tmp_14);  tmp_5 = tmp_4 = tmp_14 = None
        tmp_3 += tmp_15;  tmp_16 = tmp_3;  tmp_3 = tmp_15 = None
        return (tmp_16,)
