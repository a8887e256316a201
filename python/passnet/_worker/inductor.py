"""TorchInductor without Dynamo: the graph as it was captured, compiled for given inputs, called without guards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._inductor
import torch.fx


class DirectGraph:
    """A graph that is compiled in its first call, for inputs like those of that call."""

    def __init__(self, module: torch.fx.GraphModule, mode: str) -> None:
        self._module = module
        self._options = torch._inductor.list_mode_options(mode)
        self.compiled: Callable[..., Any] | None = None
        """Function that is called from then on; it checks nothing."""

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if self.compiled is None:
            self.compiled = self._compile(inputs)
        return self.compiled(*inputs)

    def _compile(self, inputs: Sequence[torch.Tensor]) -> Callable[..., Any]:
        return torch._inductor.compile(self._module, list(inputs), options=self._options)
