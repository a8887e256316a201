import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1):
        tmp_0 = in_1[(Ellipsis, 0)]
        tmp_1 = in_1[(Ellipsis, 2)]
        tmp_2 = tmp_0 + tmp_1;  tmp_0 = tmp_1 = None
        tmp_3 = 0.5 * tmp_2;  tmp_2 = None
        tmp_4 = in_1[(Ellipsis, 1)]
        tmp_5 = in_1[(Ellipsis, 3)]
        tmp_6 = tmp_4 + tmp_5;  tmp_4 = tmp_5 = None
        tmp_7 = 0.5 * tmp_6;  tmp_6 = None
        tmp_8 = in_1[(Ellipsis, 2)]
        tmp_9 = in_1[(Ellipsis, 0)]
        tmp_10 = tmp_8 - tmp_9;  tmp_8 = tmp_9 = None
        tmp_11 = in_1[(Ellipsis, 3)]
        tmp_12 = in_1[(Ellipsis, 1)];  in_1 = None
        tmp_13 = tmp_11 - tmp_12;  tmp_11 = tmp_12 = None
        tmp_14 = torch.stack((tmp_10, tmp_13, tmp_10, tmp_13), dim = -1);  tmp_10 = tmp_13 = None
        tmp_15 = in_0 * tmp_14;  in_0 = tmp_14 = None
        tmp_16 = tmp_15[(Ellipsis, 0)]
        tmp_17 = tmp_3 - tmp_16;  tmp_16 = None
        tmp_18 = tmp_15[(Ellipsis, 1)]
        tmp_19 = tmp_7 - tmp_18;  tmp_18 = None
        tmp_20 = tmp_15[(Ellipsis, 2)]
        tmp_21 = tmp_3 + tmp_20;  tmp_3 = tmp_20 = None
        tmp_22 = tmp_15[(Ellipsis, 3)];  tmp_15 = None
        tmp_23 = tmp_7 + tmp_22;  tmp_7 = tmp_22 = None
        tmp_24 = torch.stack((tmp_17, tmp_19, tmp_21, tmp_23), dim = -1);  tmp_17 = tmp_19 = tmp_21 = tmp_23 = None
        return (tmp_24,)
