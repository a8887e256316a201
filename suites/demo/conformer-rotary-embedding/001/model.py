import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2):
        tmp_0 = in_1[(Ellipsis, slice(None, 32, None))]
        tmp_1 = in_1[(Ellipsis, slice(32, None, None))]
        tmp_2 = -tmp_1;  tmp_1 = None
        tmp_3 = torch.cat((tmp_2, tmp_0), dim = 3);  tmp_2 = tmp_0 = None
        tmp_4 = in_1 * in_0;  in_1 = in_0 = None
        tmp_5 = tmp_3 * in_2;  tmp_3 = in_2 = None
        tmp_6 = tmp_4 + tmp_5;  tmp_4 = tmp_5 = None
        return (tmp_6,)
