import torch

pattern = lambda x: torch.nn.functional.relu(x)  # noqa: E731
replacement_args = lambda x: (x,)  # noqa: E731
replacement_func = lambda: torch.relu  # noqa: E731
