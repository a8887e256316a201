import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.transpose(1, 2);  in_0 = None
        tmp_1 = tmp_0.reshape(1, -1, 8, 8);  tmp_0 = None
        tmp_2 = torch.nn.functional.interpolate(tmp_1, size = (16, 16), mode = 'bilinear', align_corners = False);  tmp_1 = None
        return (tmp_2,)
