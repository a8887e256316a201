"""Makes weights state of the module instead of arguments of each call."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
import torch.fx


class StaticWeights:
    """The weights of a graph module. They are tensors of the module, which keep their addresses when their content changes."""

    def __init__(self, module: torch.fx.GraphModule, names: Collection[str]) -> None:
        """Turns the placeholders with these names into attributes. The attributes get their content from the first set of inputs."""
        wanted = set(names)
        graph = module.graph
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        self._data = [index for index, node in enumerate(placeholders) if node.target not in wanted]
        self._places = {index: f"weight_{index}" for index in range(len(placeholders)) if index not in set(self._data)}
        self._names = {index: node.target for index, node in enumerate(placeholders) if index in self._places}
        self._modules = [module]
        self._filled = False
        for index, attribute in self._places.items():
            module.register_buffer(attribute, torch.empty(0))
            with graph.inserting_after(placeholders[-1]):
                state = graph.get_attr(attribute)
            placeholders[index].replace_all_uses_with(state)
        for index in self._places:
            graph.erase_node(placeholders[index])
        module.recompile()

    def shared_with(self, module: torch.fx.GraphModule) -> None:
        """Makes another module, made from the first one, use the same weights."""
        self._modules.append(module)

    def take(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Copies the content of weights from a set of inputs. Returns the other inputs."""
        if self._filled:
            with torch.no_grad():
                for index, attribute in self._places.items():
                    getattr(self._modules[0], attribute).copy_(tensors[index])
        else:
            self._fill(tensors)
        return self.data(tensors)

    def data(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the inputs of a set that are not weights."""
        return [tensors[index] for index in self._data]

    def memory(self, names: Collection[str]) -> list[tuple[int, int]]:
        """Returns the addresses and the numbers of bytes of the weights with these names."""
        state = [getattr(self._modules[0], self._places[index]) for index, name in self._names.items() if name in names]
        return [(tensor.data_ptr(), tensor.nbytes) for tensor in state]

    def write_back(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copies the weights into a set of inputs after a call, so that a change is noticed as for any other input."""
        with torch.no_grad():
            for index, attribute in self._places.items():
                tensors[index].copy_(getattr(self._modules[0], attribute))

    def _fill(self, tensors: Sequence[torch.Tensor]) -> None:
        self._filled = True
        for index, attribute in self._places.items():
            own = tensors[index].clone()
            state = torch.nn.Parameter(own, requires_grad=False) if own.is_floating_point() else own
            for module in self._modules:
                if attribute in module._buffers:
                    del module._buffers[attribute]
                    if isinstance(state, torch.nn.Parameter):
                        module.register_parameter(attribute, state)
                    else:
                        module.register_buffer(attribute, state)
