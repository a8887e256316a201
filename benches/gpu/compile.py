"""Whole models on one GPU: checks of CUDA graphs, then eager, `passnet.compile` and the modes of `torch.compile`.

    PYTHONPATH=python:benches python benches/gpu/compile.py [--seconds 190] [--skip checks fast slow] [MODEL...]

Prints one JSON object per line: `{"check": ...}`, `{"model": ..., "side": ..., "us": ..., "compile_s": ...}`, and finally a
summary with geometric means. The sides of a model are called in turns; times are medians of calls that end with a synchronisation.
It stops before the given time is over: first all sides but the modes that tune for as many models as there is time for, then those modes for a few.
Models that are not reached are missing from the summary.
"""

from __future__ import annotations

import argparse
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch
from models.sides import compare, error, say

import passnet

Side = Callable[..., Any]
SIDES = ("passnet", "passnet+graphs", "passnet frozen+graphs", "default", "reduce-overhead")
SLOW_SIDES = ("passnet+graphs", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
ORDER = (
    "unet",
    "regnet",
    "densenet",
    "mixer",
    "gpt",
    "bert",
    "mobilenet",
    "efficientnet",
    "t5_encoder",
    "vit",
    "convnext",
    "resnet",
)
# Autotuning takes long.
SLOW_MODELS, SLOW_SECONDS = ("gpt", "unet"), 60


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 128), torch.nn.Linear(128, 64)
        self.norm, self.drop = torch.nn.LayerNorm(64), torch.nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.second(self.drop(torch.nn.functional.gelu(self.first(x)))))


def net(training: bool = False) -> tuple[Net, torch.Tensor]:
    torch.manual_seed(1)
    return Net().cuda().train(training), torch.randn(32, 64, device="cuda")


def graphed(model: Side, **options: Any) -> Any:
    return passnet.compile(model, cuda_graphs=True, **options)


def check_outputs_are_the_callers() -> None:
    model, x = net()
    compiled = graphed(model)
    compiled(x)
    first = compiled(x)
    kept = first.clone()
    compiled(torch.randn_like(x))
    assert torch.equal(first, kept)
    assert compiled.report().specialisations[0].cuda_graph == "on", compiled.report()


def check_inputs_and_parameters_are_read() -> None:
    model, x = net()
    compiled = graphed(model)
    for _ in range(3):
        x = torch.randn_like(x)
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    model.first.weight.mul_(2)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    model.first.weight.data = torch.randn_like(model.first.weight)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    model.second = torch.nn.Linear(128, 64).cuda()
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)


def check_sizes_are_captured_again() -> None:
    model, _ = net()
    compiled = graphed(model)
    for size in (32, 16, 32, 8, 16, 1):
        x = torch.randn(size, 64, device="cuda")
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert len(compiled.report().specialisations) == 4


def check_random_numbers() -> None:
    """Every call draws new numbers, the same as PyTorch after the same seed."""
    model, x = net(training=True)
    compiled = graphed(model)
    compiled(x)
    torch.cuda.manual_seed(7)
    ours = [compiled(x) for _ in range(3)] + [torch.rand(4, device="cuda")]
    torch.cuda.manual_seed(7)
    theirs = [model(x) for _ in range(3)] + [torch.rand(4, device="cuda")]
    assert not torch.equal(ours[0], ours[1])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def check_streams_and_threads() -> None:
    model, _ = net()
    compiled = graphed(model)
    compiled(torch.randn(32, 64, device="cuda"))
    faults: list[str] = []

    def work(seed: int) -> None:
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            generator = torch.Generator("cuda").manual_seed(seed)
            for _ in range(200):
                x = torch.randn(32, 64, device="cuda", generator=generator)
                if error(compiled(x), model(x)) > 1e-4:
                    faults.append(f"thread {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults, faults


def check_a_copy_from_the_host_is_refused() -> None:
    def on_host(x: torch.Tensor) -> torch.Tensor:
        return x + torch.arange(4).to(x.device)

    x = torch.zeros(4, device="cuda")
    compiled = graphed(on_host)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), on_host(x))
    assert compiled.report().specialisations[0].cuda_graph.startswith("refused"), compiled.report()


def check_arguments_are_written() -> None:
    def in_place(x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)

    compiled = graphed(in_place)
    for _ in range(3):
        ours, theirs = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
        torch.testing.assert_close(compiled(ours), in_place(theirs))
        torch.testing.assert_close(ours, theirs)


def check_a_capture_that_fails_leaves_pytorch_right() -> None:
    """Singular values wait for the device, which a capture forbids."""

    def singular(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.svdvals(x) * 2 + 1

    compiled = graphed(singular)
    for _ in range(3):
        x = torch.randn(16, 16, device="cuda")
        torch.testing.assert_close(compiled(x), singular(x), rtol=1e-3, atol=1e-3)
    # The device still works, and captures.
    check_outputs_are_the_callers()


def check_frozen_images() -> None:
    torch.manual_seed(2)
    layers = [torch.nn.Conv2d(8, 8, 3, padding=1) for _ in range(4)]
    model = (
        torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), *layers).cuda().eval()
    )
    for options in ({"cuda_graphs": False}, {"cuda_graphs": True}, {"cuda_graphs": "auto"}):
        compiled = passnet.compile(model, freeze=True, **options)
        for _ in range(3):
            x = torch.randn(4, 3, 32, 32, device="cuda")
            found, expected = compiled(x), model(x)
            torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)
            assert found.stride() == expected.stride()
        compiled.reset()


def check_inference_mode_and_grad_mode() -> None:
    model, x = net()
    compiled = graphed(model)
    for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode):
        with mode():
            for _ in range(2):
                torch.testing.assert_close(compiled(x.clone()), model(x), rtol=1e-4, atol=1e-4)
    with torch.enable_grad():
        assert compiled(x).requires_grad


def check_reset_gives_memory_back() -> None:
    def used() -> int:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    model, _ = net()
    compiled = graphed(model)
    with torch.no_grad():
        model(torch.randn(8, 64, device="cuda"))
    before = used()
    for _ in range(3):
        for size in (4096, 8192):
            compiled(torch.randn(size, 64, device="cuda"))
        compiled.reset()
    assert used() <= before, (used(), before)


def run_checks() -> None:
    for name, check in list(globals().items()):
        if not name.startswith("check_"):
            continue
        try:
            with torch.no_grad():
                check()
            say(check=name, ok=True)
        except Exception as fault:
            say(check=name, ok=False, error=f"{type(fault).__name__}: {fault}"[:600], at=traceback.format_exc()[-900:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(ORDER))
    parser.add_argument("--seconds", type=float, default=190)
    parser.add_argument("--skip", nargs="*", default=[], choices=["checks", "fast", "slow"])
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    warnings.simplefilter("ignore")
    say(torch=torch.__version__, device=torch.cuda.get_device_name(), triton=__import__("triton").__version__)
    if "checks" not in arguments.skip:
        run_checks()
    if "fast" not in arguments.skip:
        compare(arguments.models, "cuda", SIDES, until - (0 if "slow" in arguments.skip else SLOW_SECONDS))
    if "slow" not in arguments.skip:
        compare(SLOW_MODELS, "cuda", SLOW_SIDES, until)


if __name__ == "__main__":
    main()
