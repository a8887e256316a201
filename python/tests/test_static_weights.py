"""Weights that are state of the module give the results that weights as inputs give."""

from __future__ import annotations

import torch

from passnet._passes.trace import trace_pattern
from passnet._passes.wire import from_graph, to_graph_module
from passnet._worker.static_weights import StaticWeights


def layer(x: torch.Tensor, l_self_weight: torch.Tensor, l_self_steps: torch.Tensor, y: torch.Tensor) -> tuple:
    l_self_steps += 1
    return torch.nn.functional.linear(x, l_self_weight) + y, l_self_steps * 2


def inputs(seed: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.randn(2, 4), torch.randn(3, 4), torch.tensor([seed]), torch.randn(2, 3)]


def static() -> tuple[torch.fx.GraphModule, StaticWeights]:
    module = to_graph_module(from_graph(trace_pattern(layer)))
    return module, StaticWeights(module, ["l_self_weight", "l_self_steps"])


def test_weights_follow_the_set_of_inputs() -> None:
    plain = to_graph_module(from_graph(trace_pattern(layer)))
    module, weights = static()
    for seed in (1, 2, 1):
        expected, got = inputs(seed), inputs(seed)
        data = weights.take(got)
        assert [tensor.shape for tensor in data] == [(2, 4), (2, 3)]
        for one, other in zip(plain(*expected), module(*data), strict=True):
            assert torch.equal(one, other)
        weights.write_back(got)
        # A change in place is seen as that of any input.
        assert torch.equal(got[2], expected[2]) and got[2].item() == seed + 1


def test_their_addresses_stay_and_copies_of_the_module_share_them() -> None:
    module, weights = static()
    copy = torch.fx.GraphModule(module, module.graph)
    weights.shared_with(copy)
    weights.take(inputs(1))
    address = module.weight_1.data_ptr()
    weights.take(inputs(2))
    assert module.weight_1.data_ptr() == address == copy.weight_1.data_ptr()
    assert [name for name, _ in module.named_parameters()] == ["weight_1"]
    assert torch.equal(copy.weight_1, inputs(2)[1])


def test_a_compiler_sees_state() -> None:
    module, weights = static()
    seen = []

    def backend(graph: torch.fx.GraphModule, example: list[torch.Tensor]) -> torch.fx.GraphModule:
        seen.append([type(value).__name__ for value in example])
        return graph

    data = weights.take(inputs(3))
    torch.compile(module, backend=backend, dynamic=False)(*data)
    assert "Parameter" in seen[0]
