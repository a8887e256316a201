import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3, in_4):
        tmp_0 = torch.nn.functional.adaptive_avg_pool2d(in_4, 1)
        tmp_1 = torch.conv2d(tmp_0, in_1, in_0, (1, 1), (0, 0), (1, 1), 1);  tmp_0 = in_1 = in_0 = None
        tmp_2 = torch.nn.functional.relu(tmp_1, inplace = False);  tmp_1 = None
        tmp_3 = torch.conv2d(tmp_2, in_3, in_2, (1, 1), (0, 0), (1, 1), 1);  tmp_2 = in_3 = in_2 = None
        tmp_4 = torch.nn.functional.hardsigmoid(tmp_3, False);  tmp_3 = None
        tmp_5 = tmp_4 * in_4;  tmp_4 = in_4 = None
        return (tmp_5,)
