import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0):
        tmp_0 = in_0.reshape(1, 64, -1)
        tmp_1 = torch.nn.functional.batch_norm(tmp_0, None, None, training = True, momentum = 0.0, eps = 1e-08);  tmp_0 = None
        tmp_2 = tmp_1.reshape_as(in_0);  tmp_1 = in_0 = None
        return (tmp_2,)
