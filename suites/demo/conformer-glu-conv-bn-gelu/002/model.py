import torch


class GraphModule(torch.nn.Module):
    def forward(self, in_0, in_1, in_2, in_3, in_4, in_5):
        tmp_0 = torch.nn.functional.glu(in_5, 1);  in_5 = None
        tmp_1 = torch.conv1d(tmp_0, in_4, None, (1,), (15,), (1,), 256);  tmp_0 = in_4 = None
        tmp_2 = torch.nn.functional.batch_norm(tmp_1, in_0, in_1, in_3, in_2, False, 0.1, 1e-05);  tmp_1 = in_0 = in_1 = in_3 = in_2 = None
        tmp_3 = torch._C._nn.gelu(tmp_2);  tmp_2 = None
        return (tmp_3,)
