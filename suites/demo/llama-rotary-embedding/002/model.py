import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3):
        tmp_0 = in_0.unsqueeze(1);  in_0 = None
        tmp_1 = in_3.unsqueeze(1);  in_3 = None
        tmp_2 = in_2 * tmp_0
        tmp_3 = in_2[(Ellipsis, slice(None, 32, None))]
        tmp_4 = in_2[(Ellipsis, slice(32, None, None))];  in_2 = None
        tmp_5 = -tmp_4;  tmp_4 = None
        tmp_6 = torch.cat((tmp_5, tmp_3), dim = -1);  tmp_5 = tmp_3 = None
        tmp_7 = tmp_6 * tmp_1;  tmp_6 = None
        tmp_8 = tmp_2 + tmp_7;  tmp_2 = tmp_7 = None
        tmp_9 = in_1 * tmp_0;  tmp_0 = None
        tmp_10 = in_1[(Ellipsis, slice(None, 32, None))]
        tmp_11 = in_1[(Ellipsis, slice(32, None, None))];  in_1 = None
        tmp_12 = -tmp_11;  tmp_11 = None
        tmp_13 = torch.cat((tmp_12, tmp_10), dim = -1);  tmp_12 = tmp_10 = None
        tmp_14 = tmp_13 * tmp_1;  tmp_13 = tmp_1 = None
        tmp_15 = tmp_9 + tmp_14;  tmp_9 = tmp_14 = None
        return (tmp_15, tmp_8)
