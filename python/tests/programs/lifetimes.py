"""Compiled models in a program: copies, checkpoints, other types, edits, exports, wrappers."""

from __future__ import annotations

import copy
import io
import pickle
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

from programs import Compile, outcome


class Net(nn.Module):
    """A model that pickle can find by its name."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, width), nn.BatchNorm1d(width), nn.Linear(width, 2)
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape) + 0.1 * number)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.norm(self.first(x)))) * self.scale


_X = torch.linspace(-1, 1, 12).reshape(4, 3)


def _step(call: Any, model: nn.Module, x: torch.Tensor = _X) -> Any:
    model.zero_grad()
    result = call(x)
    result.square().sum().backward()
    return result, [None if parameter.grad is None else parameter.grad.clone() for parameter in model.parameters()]


def deep_copies_train_alone(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield _step(call, model)
    other = copy.deepcopy(call)
    yield _step(other, other)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    yield _step(other, other), _step(call, model)
    yield [buffer.clone() for buffer in other.buffers()], [buffer.clone() for buffer in model.buffers()]


def pickled_and_loaded(compiled: Compile) -> Iterator[Any]:
    model = Net().eval()
    call = compiled(model)
    yield call(_X)
    file = io.BytesIO()
    torch.save(call, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    yield loaded(_X), loaded.training
    again = pickle.loads(pickle.dumps(call))
    yield _step(again.train(), again)


def checkpoint_of_other_values(compiled: Compile) -> Iterator[Any]:
    model, source = Net(), Net()
    call = compiled(model)
    yield _step(call, model)
    state = {name: value * 0.5 for name, value in source.state_dict().items()}
    for assign in (False, True):
        model.load_state_dict(state, assign=assign)
        yield _step(call, model)
        state = {name: value + 1 for name, value in state.items()}
    yield outcome(lambda: model.load_state_dict({"first.weight": torch.ones(5, 5)}))
    yield call.eval()(_X)


def other_element_types(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float32):
        yield call.to(dtype) is call
        yield _step(call, model, _X.to(dtype))
        yield outcome(lambda dtype=dtype: call(_X.to(torch.float64 if dtype != torch.float64 else torch.float32)))
    with torch.no_grad():
        yield call.half()(_X.half())
        yield call.double().eval()(_X.double())


def modes_of_training(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    for change in (call.eval, call.train, lambda: model.norm.eval(), lambda: call.train(False), call.train):
        change()
        yield call(_X), call.training, model.norm.training
        yield [buffer.clone() for buffer in model.buffers()]
    yield outcome(lambda: call(_X[:1]))
    yield call.eval()(_X[:1])


def gradients_on_and_off(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    for flags in ((True, True), (False, True), (False, False), (True, False)):
        model.first.requires_grad_(flags[0])
        model.last.requires_grad_(flags[1])
        model.norm.requires_grad_(flags[1])
        model.zero_grad()
        result = call(_X)
        yield result, outcome(lambda result=result: result.sum().backward())
        yield [parameter.grad for parameter in model.parameters()]
    x = _X.clone().requires_grad_()
    model.requires_grad_(False)
    call(x).sum().backward()
    yield x.grad


def tensors_of_inference(compiled: Compile) -> Iterator[Any]:
    model = Net().eval()
    call = compiled(model)
    with torch.inference_mode():
        result = call(_X)
        yield result.is_inference()
        inside = _X * 2
        yield call(inside)
    yield outcome(lambda: result.requires_grad_())
    yield outcome(lambda: _step(call, model, inside))
    with torch.no_grad():
        yield call(inside), call(inside).is_inference(), call(_X).is_inference()
    yield _step(call, model)


def parts_by_index(compiled: Compile) -> Iterator[Any]:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.3)
    call = compiled(model)
    yield call(_X)
    yield len(model), [type(part).__name__ for part in model], type(model[1]).__name__
    model.append(nn.Tanh())
    yield call(_X)
    model.insert(1, nn.Sigmoid())
    yield call(_X)
    del model[1]
    yield call(_X)
    model[0] = nn.Identity()
    yield call(_X)
    model.pop(1)
    yield call(_X)


def threads_with_their_own_modes(compiled: Compile) -> Iterator[Any]:
    model = Net().eval()
    call = compiled(model)
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        with torch.set_grad_enabled(number % 2 == 0), torch.autocast("cpu", torch.bfloat16, enabled=number == 3):
            results[number] = call(_X + number)

    for numbers in ((0, 1, 2, 3), (0, 1, 2, 3)):
        threads = [threading.Thread(target=work, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield [results[number] for number in numbers]


def pool_of_threads_trains(compiled: Compile) -> Iterator[Any]:
    models = [Net(), Net()]
    calls = [compiled(model) for model in models]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(2):
            yield list(pool.map(_step, calls, models))


def data_parallel(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = nn.DataParallel(compiled(model))
    for _ in range(2):
        yield _step(call, model)
    with torch.no_grad():
        yield call.eval()(_X)


def distributed_data_parallel(compiled: Compile) -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        store = torch.distributed.FileStore(f"{folder}/store", 1)
        torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            model = Net()
            call = nn.parallel.DistributedDataParallel(compiled(model))
            for _ in range(3):
                yield _step(call, model)
            with call.no_sync():
                yield _step(call, model)
        finally:
            torch.distributed.destroy_process_group()


def exported_afterwards(compiled: Compile) -> Iterator[Any]:
    model = Net().eval()
    call = compiled(model)
    yield call(_X)
    program = torch.export.export(model, (_X,))
    yield program.module()(_X)
    yield outcome(lambda: torch.jit.trace(call, _X)(_X * 2))
    yield torch.fx.symbolic_trace(model)(_X)
    yield call(_X)


def average_of_weights(compiled: Compile) -> Iterator[Any]:
    model = Net()
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    call, averaged = compiled(model), compiled(average)
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        call(_X).square().sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
        average.update_parameters(model)
        with torch.no_grad():
            yield averaged(_X), call(_X)


def flattened_parameters(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield _step(call, model)
    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    torch.nn.utils.vector_to_parameters(flat * 0.5, model.parameters())
    yield _step(call, model)
    with torch.no_grad():
        flat.zero_()
    yield _step(call, model)


def parameters_as_views_of_one_buffer(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield _step(call, model)
    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    grads, place = torch.zeros_like(flat), 0
    for parameter in model.parameters():
        parameter.data = flat[place : place + parameter.numel()].view_as(parameter)
        parameter.grad = grads[place : place + parameter.numel()].view_as(parameter)
        place += parameter.numel()
    for _ in range(2):
        call(_X).square().sum().backward()
        yield grads.clone()
        flat.sub_(grads * 0.01)
    yield call(_X)


def modules_swapped_for_others(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield call(_X)
    model.norm = nn.SyncBatchNorm.convert_sync_batchnorm(model.norm).eval()
    yield call(_X)
    model.eval()
    model.first = torch.nn.utils.fusion.fuse_linear_bn_eval(model.first, nn.BatchNorm1d(3).eval())
    model.norm = nn.Identity()
    yield call(_X)
    model.extra = nn.Tanh()
    yield call(_X), sorted(dict(model.named_modules()))
    model.forward = lambda x: model.extra(x) + 1
    yield call(_X)


def shallow_copies(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield call(_X)
    other = copy.copy(call)
    yield _step(other, model)
    with torch.no_grad():
        model.last.bias.add_(1)
    yield other(_X), call(_X)


def names_and_state_of_the_class(compiled: Compile) -> Iterator[Any]:
    model = Net()
    call = compiled(model)
    yield isinstance(call, nn.Module), call.training, call.scale
    call.scale = torch.tensor(3.0)
    yield call(_X), model.scale
    call.note = "text"
    yield model.note
    yield call.apply(lambda module: module) is call, call.requires_grad_(False) is call, call.float() is call
    yield call(_X)
    yield outcome(lambda: call.absent)
    yield outcome(lambda: call(_X, _X))
    yield outcome(lambda: call(y=_X))
