"""TorchInductor without Dynamo: compiles the captured graph for given inputs, and calls it without guards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._inductor
import torch.fx


class DirectGraph:
    """A graph that is compiled in its first call, for inputs with the types of those of this call."""

    def __init__(self, module: torch.fx.GraphModule, mode: str) -> None:
        self._module = module
        self._options = torch._inductor.list_mode_options(mode)
        self.compiled: Callable[..., Any] | None = None
        """Compiled function for later calls, without checks of the inputs; None before the first call."""

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if self.compiled is None:
            self.compiled = self._compile(inputs)
        return self.compiled(*inputs)

    def _compile(self, inputs: Sequence[torch.Tensor]) -> Callable[..., Any]:
        return torch._inductor.compile(self._module, list(inputs), options=self._options)
