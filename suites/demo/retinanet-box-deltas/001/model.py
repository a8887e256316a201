import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3, in_4):
        tmp_0 = in_0[(slice(None, None, None), slice(0, None, 4))]
        tmp_1 = tmp_0 / 1.0;  tmp_0 = None
        tmp_2 = in_0[(slice(None, None, None), slice(1, None, 4))]
        tmp_3 = tmp_2 / 1.0;  tmp_2 = None
        tmp_4 = in_0[(slice(None, None, None), slice(2, None, 4))]
        tmp_5 = tmp_4 / 1.0;  tmp_4 = None
        tmp_6 = in_0[(slice(None, None, None), slice(3, None, 4))];  in_0 = None
        tmp_7 = tmp_6 / 1.0;  tmp_6 = None
        tmp_8 = torch.clamp(tmp_5, max = 4.135166556742356);  tmp_5 = None
        tmp_9 = torch.clamp(tmp_7, max = 4.135166556742356);  tmp_7 = None
        tmp_10 = in_4[(slice(None, None, None), None)]
        tmp_11 = tmp_1 * tmp_10;  tmp_1 = tmp_10 = None
        tmp_12 = in_1[(slice(None, None, None), None)];  in_1 = None
        tmp_13 = tmp_11 + tmp_12;  tmp_11 = tmp_12 = None
        tmp_14 = in_3[(slice(None, None, None), None)]
        tmp_15 = tmp_3 * tmp_14;  tmp_3 = tmp_14 = None
        tmp_16 = in_2[(slice(None, None, None), None)];  in_2 = None
        tmp_17 = tmp_15 + tmp_16;  tmp_15 = tmp_16 = None
        tmp_18 = torch.exp(tmp_8);  tmp_8 = None
        tmp_19 = in_4[(slice(None, None, None), None)];  in_4 = None
        tmp_20 = tmp_18 * tmp_19;  tmp_18 = tmp_19 = None
        tmp_21 = torch.exp(tmp_9);  tmp_9 = None
        tmp_22 = in_3[(slice(None, None, None), None)];  in_3 = None
        tmp_23 = tmp_21 * tmp_22;  tmp_21 = tmp_22 = None
        return (tmp_13, tmp_17, tmp_23, tmp_20)
