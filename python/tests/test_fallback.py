"""The backend gives PyTorch's results for any call, also for calls that a pass is not written for."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from agent_command import passnet as passnet_command
from conftest import REPOSITORY
from passnet import backend
from passnet._backend.fallback import Refusals, with_fallback
from passnet._passes.load import PassDirectory
from test_demo_passes import TASKS, graphs, make_inputs

DEMO = REPOSITORY / "suites" / "demo"
FUSED_TASKS = [
    "gpt2-gelu-tanh",
    "resnet-bn-add-relu",
    pytest.param("gemma-rms-norm", marks=pytest.mark.long),
    pytest.param("bert-scale-mask-softmax", marks=pytest.mark.long),
]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Compiled code and what backends know are forgotten."""
    torch._dynamo.reset()
    backend._backends.clear()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def compiled(model: Any, passes: Path, **options: Any) -> Any:
    return torch.compile(model, backend=backend.passnet, options={"passes": passes, **options})


class Gelu(torch.nn.Module):
    """The gelu of GPT-2."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Linear(8, 16), torch.nn.LayerNorm(16)
        self.gelu, self.second = Gelu(), torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.gelu(self.norm(self.first(x))))


class Cnn(torch.nn.Module):
    """A residual block; its batch normalisation uses stored statistics unless it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.second, self.head = torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        z = self.norm(self.second(y))
        z += y
        return self.head(torch.nn.functional.relu(z, inplace=True).mean((2, 3)))


MODELS = {"gpt2-gelu-tanh": (Mlp, (5, 8)), "resnet-bn-add-relu": (Cnn, (2, 3, 6, 6))}


def gradients(call: Any, model: torch.nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Gradients of all parameters and of the input, after one step."""
    model.zero_grad(set_to_none=True)
    x = x.clone().requires_grad_()
    call(x).square().sum().backward()
    named = {name: parameter.grad for name, parameter in model.named_parameters()} | {"x": x.grad}
    assert None not in named.values(), named
    return named


@pytest.mark.parametrize("task", MODELS)
@pytest.mark.parametrize("first", ["inference", "training"])
def test_a_trained_model_gets_eager_modes_gradients(task: str, first: str):
    make, shape = MODELS[task]
    model, x = make().eval(), torch.randn(shape)
    fast = compiled(model, DEMO / "passes" / task)

    def infer() -> None:
        with torch.no_grad():
            torch.testing.assert_close(fast(x), model(x))

    def train() -> None:
        expected = gradients(model, model, x)
        found = gradients(fast, model, x)
        for name, gradient in expected.items():
            assert torch.equal(found[name], gradient), name

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            infer() if first == "inference" else train()
            train() if first == "inference" else infer()
    messages = [str(warning.message) for warning in seen if warning.category is RuntimeWarning]
    assert len(messages) == 1 and "gradient" in messages[0] and "no_grad" in messages[0], messages
    [matches] = next(iter(backend._backends.values())).matches.values()
    assert matches, "the pass was not in the model"


@pytest.mark.parametrize("task", MODELS)
def test_trained_by_an_optimiser_both_models_stay_equal(task: str):
    make, shape = MODELS[task]
    plain = make()
    other = copy.deepcopy(plain)
    fast = compiled(other, DEMO / "passes" / task)
    steps = [torch.optim.AdamW(model.parameters(), lr=1e-2) for model in (plain, other)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(3):
            x = torch.randn(shape)
            for call, step in zip((plain, fast), steps, strict=True):
                step.zero_grad()
                call(x).square().sum().backward()
                step.step()
    for (name, ours), theirs in zip(other.state_dict().items(), plain.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name


@pytest.mark.parametrize("task", MODELS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast(task: str, dtype: torch.dtype):
    make, shape = MODELS[task]
    model, x = make().eval(), torch.randn(shape)
    fast = compiled(model, DEMO / "passes" / task)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(2):
            torch.testing.assert_close(fast(x), model(x))
            with torch.autocast("cpu", dtype):
                found, expected = fast(x), model(x)
            assert found.dtype == expected.dtype == dtype
            torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


PRODUCT = """
import torch

def pattern(x, y):
    return torch.matmul(x, y) + 1.0

def replacement_args(x, y):
    return (x, y)

def product(x, y):
    return (x.unsqueeze(-1) * y).sum(-2) + 1.0

def replacement_func():
    return product
"""


def test_where_autocast_changes_the_pattern_it_is_computed(write_passes: Callable[..., Path]):
    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.matmul(x, y) + 1.0

    x, y = torch.randn(4, 6), torch.randn(6, 3)
    fast = compiled(model, write_passes(product=PRODUCT), verify=False)
    warned = pytest.warns(RuntimeWarning, match="`product`.*autocast changes.*mm")
    with torch.no_grad(), warned, torch.autocast("cpu", torch.bfloat16):
        found, expected = fast(x, y), model(x, y)
    assert found.dtype == expected.dtype == torch.bfloat16
    assert torch.equal(found, expected)
    with torch.no_grad():
        torch.testing.assert_close(fast(x, y), model(x, y))


def outcome(call: Any, values: list[Any]) -> tuple[str, Any]:
    """The result of a call, or the type of its exception."""
    values = [value.clone() if isinstance(value, torch.Tensor) else value for value in values]
    try:
        return "result", (call(*values), values)
    except Exception as error:
        return "exception", type(error)


def like_layout(value: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    """Equal elements in a memory whose dimensions have this order."""
    inverse = sorted(range(value.dim()), key=order.__getitem__)
    return value.permute(order).contiguous().permute(inverse)


def variants(values: list[torch.Tensor]) -> Iterator[tuple[str, list[Any]]]:
    """Calls that are not those of the suite."""
    yield "as recorded", values
    for place, value in enumerate(values):

        def having(other: torch.Tensor, place: int = place) -> list[Any]:
            return [*values[:place], other, *values[place + 1 :]]

        if value.dim() >= 2:
            yield f"{place} transposed", having(like_layout(value, tuple(reversed(range(value.dim())))))
            yield f"{place} every second", having(torch.stack([value, value], -1)[..., 0])
        if value.dim() == 4:
            yield f"{place} channels last", having(value.contiguous(memory_format=torch.channels_last))
        if value.dim():
            yield f"{place} broadcast", having(value[:1])
            yield f"{place} of no row", having(value[:0])
            yield f"{place} expanded", having(value[..., :1].expand(value.shape))
        yield f"{place} 0-d", having(value.flatten()[0])
        yield f"{place} wider", having(value.double() if value.is_floating_point() else value.int())
        yield f"{place} bfloat16", having(value.bfloat16())
        yield f"{place} complex", having(value.to(torch.complex64))
        yield f"{place} meta", having(value.to("meta"))
    yield "all double", [value.double() if value.is_floating_point() else value for value in values]
    yield "all complex", [value.to(torch.complex64) for value in values]
    yield "all meta", [value.to("meta") for value in values]
    yield "all of no row", [value[:0] for value in values]


def assert_eager(model: torch.fx.GraphModule, passes: Path, values: list[torch.Tensor]) -> None:
    """All variants give what the model itself gives."""
    used = backend.Backend([PassDirectory.load(passes)], falls_back=True)
    rewritten = used(copy.deepcopy(model), ())
    assert sum(used.matches.values()), "no pass matches"
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for name, variant in variants(values):
            for _ in range(2):  # The second call is the one that is not compared with PyTorch.
                (kind, found), (expected_kind, expected) = outcome(rewritten, variant), outcome(model, variant)
                assert kind == expected_kind, (name, found, expected)
                if kind == "exception":
                    continue
                for ours, theirs in zip(*map(tensors, (found, expected)), strict=True):
                    assert (ours.dtype, ours.shape, ours.device) == (theirs.dtype, theirs.shape, theirs.device), name
                    if not theirs.is_meta:
                        ours, theirs = (tensor.to(torch.complex128) for tensor in (ours, theirs))
                        scale = theirs.abs().nan_to_num(0, 0, 0).max().item() if theirs.numel() else 0.0
                        assert torch.allclose(ours, theirs, rtol=2e-2, atol=2e-2 * scale, equal_nan=True), name


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in tensors(part)] if isinstance(value, (list, tuple)) else []


def smallest_graph(task: str) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """The graph of a task with the fewest elements, and its inputs. The calls that follow from it are many, and sizes do not matter."""
    drawn = [(model, make_inputs(folder)) for folder, model in graphs(task)]
    return min(drawn, key=lambda of: sum(value.numel() for value in of[1]))


@pytest.mark.parametrize("task", TASKS)
def test_the_demos_passes_for_calls_that_they_are_not_written_for(task: str):
    model, inputs = smallest_graph(task)
    assert_eager(model, DEMO / "passes" / task, inputs)


@pytest.mark.parametrize("task", FUSED_TASKS)
def test_the_built_in_authors_passes_for_calls_that_they_are_not_written_for(task: str, tmp_path: Path):
    passnet_command("fuse", DEMO / task, "--out", tmp_path / "passes")
    [passes] = {path.parent for path in tmp_path.rglob("sorted_output_pass_rule_names.json")}
    model, inputs = smallest_graph(task)
    assert_eager(model, passes, inputs)


WRITES = """
def pattern(x, y):
    x.add_(1)
    return x * y

def replacement_args(x, y):
    return (x, y)

def written(x, y):
    product = (x + 1) * y
    x.add_(1)
    return product

def replacement_func():
    return written
"""


@torch.no_grad()
def test_memory_that_is_shared_in_a_later_call(write_passes: Callable[..., Path]):
    """The replacement reads `y` before it writes to `x`, which matters only where they share memory."""

    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * y

    rule = PassDirectory.load(write_passes(writes=WRITES)).passes[0]
    call = with_fallback(rule, Refusals(rule.name)).replacement

    def pair(distance: int) -> tuple[torch.Tensor, torch.Tensor]:
        memory = torch.arange(16.0)
        return memory[:8], memory[distance : distance + 8]

    # The types, sizes and strides of all calls are equal.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(torch.arange(8.0), torch.arange(8.0))
        call(torch.arange(8.0), torch.arange(8.0))
        assert torch.equal(call(*pair(4)), model(*pair(4)))


PRECISE = """
import torch

def pattern(x, y):
    x.add_(y)
    return x - 256

def replacement_args(x, y):
    return (x, y)

def precise(x, y):
    result = (x.float() + y.float() {fault} - 256).to(x.dtype)
    x.add_(y)
    return result

def replacement_func():
    return precise
"""


@pytest.mark.parametrize(("fault", "refused"), [("", 0), ("+ 3", 1)])
@torch.no_grad()
def test_more_precise_results_are_no_difference(write_passes: Callable[..., Path], fault: str, refused: int):
    """The pattern rounds a sum to 8 bits and then loses all of them; its replacement rounds once."""
    rule = PassDirectory.load(write_passes(precise=PRECISE.format(fault=fault))).passes[0]
    refusals = Refusals(rule.name, warns=False)
    call = with_fallback(rule, refusals).replacement
    results = [call(*(torch.full((4,), value, dtype=torch.bfloat16) for value in (256.0, 0.875))) for _ in range(2)]
    # The first call returns what PyTorch computes.
    assert [result[0].item() for result in results] == [0.0, 0.0 if refused else 0.875]
    assert sum(refusals.counts.values()) == 2 * refused


RELAID = """
import torch

def pattern(x):
    return torch.relu(x) * 2

def replacement_args(x):
    return (x,)

def relaid(x):
    return x.contiguous().clamp(min=0) * 2

def replacement_func():
    return relaid
"""


@pytest.mark.parametrize("verify", [True, False])
@torch.no_grad()
def test_results_have_the_strides_of_pytorch_without_verification_too(write_passes: Callable[..., Path], verify: bool):
    x = torch.randn(2, 3, 4, 5)
    fast = compiled(lambda x: torch.relu(x) * 2, write_passes(relaid=RELAID), verify=verify)
    for value in (x, x.to(memory_format=torch.channels_last), x.transpose(1, 2)):
        expected = torch.relu(value) * 2
        for _ in range(2):
            found = fast(value)
            torch.testing.assert_close(found, expected)
            assert found.stride() == expected.stride()


@torch.no_grad()
def test_strides_that_dynamo_did_not_foresee_reach_the_results():
    """PyTorch keeps the layout of the images here. In some installations, tensors without data do not show this."""

    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.channel_shuffle(x, 2) * 2 + 1

    x = torch.randn(2, 4, 6, 5).to(memory_format=torch.channels_last)
    with FakeTensorMode() as mode:
        noted = model(mode.from_tensor(x)).stride()
    if noted != model(x).stride():
        pytest.skip("without verification, strides of tensors without data count")
    fast = torch.compile(model, backend=backend.passnet, dynamic=False, options={"verify": False})
    for _ in range(2):
        assert fast(x).stride() == model(x).stride()
