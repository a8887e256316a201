"""Products with a bias, convolutions and attention in parts. The CPU stands in for a GPU, and no time decides."""

from __future__ import annotations

import pytest
import torch

import passnet
from compiling import newer
from passnet._backend import regions
from passnet._backend.stopwatch import Comparison
from passnet._compile import decompose

PARTS = "{} calls of libraries run in parts, which kernels of the author may take over"
WINS, LOSES = Comparison((2.0, 2.0), (1.0, 1.0)), Comparison((1.0, 1.0), (2.0, 2.0))


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setattr(decompose, "_DEVICE", "cpu")
    monkeypatch.setattr(regions, "compare_times", lambda *_, **__: WINS)
    return monkeypatch


def compiled_notes(model, *inputs):
    compiled = passnet.compile(model)
    tolerance = 1e-5 if inputs[0].dtype == torch.float32 else 2e-2
    with torch.no_grad():
        torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=tolerance, atol=tolerance, equal_nan=True)
        torch.testing.assert_close(compiled(*inputs), model(*inputs), rtol=tolerance, atol=tolerance, equal_nan=True)
    return [note for call in compiled.report().as_dict()["specialisations"] for note in call["notes"]]


class Products(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4, bias=False)
        self.weight, self.bias = torch.nn.Parameter(torch.randn(4, 6)), torch.nn.Parameter(torch.randn(6))

    def forward(self, x):
        hidden = self.second(torch.nn.functional.gelu(self.first(x)))
        return torch.relu(torch.addmm(self.bias, hidden, self.weight))


@newer("the convolution stays as it is")
def test_products_and_convolutions_add_their_biases_separately(on_cpu):
    assert PARTS.format(2) in compiled_notes(Products(), torch.randn(5, 8))
    layers = [
        torch.nn.Conv2d(3, 5, 1),
        torch.nn.Conv2d(5, 8, 3, padding=1),
        torch.nn.ReLU(inplace=True),
        torch.nn.Flatten(2),
        torch.nn.Conv1d(8, 4, 3, 2),
    ]
    model = torch.nn.Sequential(*layers)
    assert PARTS.format(3) in compiled_notes(model, torch.randn(2, 3, 6, 6))


def test_slower_or_double_rounded_biases_stay(on_cpu):
    assert not any("parts" in note for note in compiled_notes(Products().bfloat16(), torch.randn(5, 8).bfloat16()))
    on_cpu.setattr(regions, "compare_times", lambda *_, **__: LOSES)
    assert not any("parts" in note for note in compiled_notes(Products(), torch.randn(5, 8)))


def test_an_image_without_a_batch_stays(on_cpu):
    assert not any("parts" in note for note in compiled_notes(torch.nn.Conv2d(3, 8, 3), torch.randn(3, 6, 6)))


class Attention(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        heads = x.view(2, 7, 3, 8).transpose(1, 2)
        return torch.nn.functional.scaled_dot_product_attention(heads, heads * 0.5, heads + 1.0, **self.options)


@pytest.mark.parametrize(
    ("options", "dtype"),
    [({"scale": 0.3}, torch.float32), ({"attn_mask": None, "dropout_p": 0.0, "is_causal": False}, torch.bfloat16)],
)
def test_attention_in_parts(on_cpu, options, dtype):
    x = torch.randn(2, 7, 24, dtype=dtype)
    x[0, 0] = -torch.inf
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert PARTS.format(1) in compiled_notes(Attention(**options), x)


@pytest.mark.parametrize("options", [{"is_causal": True}, {"attn_mask": torch.ones(7, 7, dtype=torch.bool)}])
def test_masked_attention_stays(on_cpu, options):
    assert not any("parts" in note for note in compiled_notes(Attention(**options), torch.randn(2, 7, 24)))
