"""Steps of random graphs that a library computes: products of matrices, convolutions and attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from graphs import Writer

FUNCTIONAL = "torch.nn.functional"
# Numbers of columns, filters and keys. Up to four columns, the author computes a product itself on every device.
WIDTHS = (1, 2, 3, 4, 5, 8, 17, 32)
# A step with more multiplications would take most of the time of a graph.
MOST_MULTIPLICATIONS = 1 << 23


def factor_of(writer: Writer, shape: tuple[int, ...], terms: int, dtype: torch.dtype) -> str:
    """Adds an input whose products with `terms` elements have sums of about 1: otherwise deep graphs have no finite values."""
    name = writer.input(shape)
    writer.inputs[name] = (writer.inputs[name].float() / math.sqrt(max(terms, 1))).to(dtype)
    writer.values[name] = writer.inputs[name].clone()
    return name


def product_step(writer: Writer, x: str) -> None:
    """Adds a product of a value with a matrix, a vector or a value: of two dimensions or a batch, with a bias, with transposed factors."""
    value, random = writer.values[x], writer.random
    if not value.dim():
        return
    *batch, terms = value.shape
    columns = random.choice(WIDTHS)
    if value.numel() * max(columns, 1) > MOST_MULTIPLICATIONS:
        return

    def factor(*shape: int) -> str:
        return factor_of(writer, shape, terms, value.dtype)

    def bias(*shape: int) -> str:
        return factor_of(writer, shape, 1, value.dtype)

    forms: list[Callable[[], str]] = [
        lambda: f"{FUNCTIONAL}.linear({x}, {factor(columns, terms)})",
        lambda: f"{FUNCTIONAL}.linear({x}, {factor(columns, terms)}, {bias(columns)})",
        lambda: f"torch.matmul({x}, {factor(terms, columns)})",
        lambda: f"{x} @ {factor(columns, terms)}.t()",
        lambda: f"{x} @ {factor(terms)}",
    ]
    if batch:
        rows, stacks = batch[-1], math.prod(batch[:-1])
        # The rows become the terms: the left factor is transposed.
        forms.append(lambda: f"{x}.transpose(-1, -2) @ {factor_of(writer, (*batch, columns), rows, value.dtype)}")
        forms.append(lambda: f"torch.einsum('...ik,kj->...ij', {x}, {factor(terms, columns)})")
        forms.append(lambda: f"{x}.unsqueeze(0) @ {factor(2, *[1] * (len(batch) - 1), terms, columns)}")
        if stacks * rows * rows * terms <= MOST_MULTIPLICATIONS:
            forms.append(lambda: f"{x} @ {x}.transpose(-1, -2)")
        if stacks * rows * terms * terms <= MOST_MULTIPLICATIONS:
            forms.append(lambda: f"{x}.transpose(-1, -2) @ {x}")
    if len(batch) == 1:
        forms += [
            lambda: f"torch.mm({x}, {factor(terms, columns)})",
            lambda: f"torch.addmm({bias(columns)}, {x}, {factor(terms, columns)})",
            lambda: f"torch.addmm({bias(batch[0], columns)}, {x}, {factor(columns, terms)}.t(), beta=0.5, alpha=2.0)",
            lambda: f"torch.outer({x}[:, 0], {factor(columns)})",
        ]
    if len(batch) == 2:
        forms += [
            lambda: f"torch.bmm({x}, {factor(batch[0], terms, columns)})",
            lambda: f"torch.bmm({x}, {factor(batch[0], columns, terms)}.transpose(1, 2))",
            lambda: f"torch.baddbmm({bias(1, columns)}, {x}, {factor(batch[0], terms, columns)})",
            lambda: f"torch.einsum('bik,bjk->bij', {x}, {factor(batch[0], columns, terms)})",
        ]
    writer.emit(random.choice(forms)())


def convolution_step(writer: Writer, _: str) -> None:
    """Adds a convolution of one or two dimensions: strides, padding, dilation, groups up to one channel each, with and without a batch."""
    random = writer.random
    x = writer.pick(lambda value: value.is_floating_point() and value.dim() in (2, 3, 4))
    if x is None:
        return
    value = writer.values[x]
    dims = {2: 1, 3: random.choice((1, 2)), 4: 2}[value.dim()]
    channels = value.shape[-1 - dims]
    groups = random.choice([n for n in (1, 1, 2, 4, channels, channels) if n and channels % n == 0] or [1])
    filters = groups * random.choice((1, 1, 2, 3))
    window = [random.choice((1, 2, 3, 3, 5)) for _ in range(dims)]
    multiplications = filters * (channels // groups) * math.prod(window) * (value.numel() // max(channels, 1))
    if multiplications > MOST_MULTIPLICATIONS:
        return
    terms = max(1, channels // groups * math.prod(window))
    weight = factor_of(writer, (filters, channels // groups, *window), terms, value.dtype)
    bias = factor_of(writer, (filters,), 1, value.dtype) if random.random() < 0.5 else None
    stride = random.choice((1, 1, 2, 3)) if dims == 1 else random.choice((1, 1, 2, (2, 1)))
    padding: object = random.choice((0, 0, 1, 2)) if dims == 1 else random.choice((0, 0, 1, (1, 0)))
    if stride == 1 and random.random() < 0.15:
        padding = repr(random.choice(("same", "valid")))
    dilation = random.choice((1, 1, 1, 2))
    writer.emit(f"torch.conv{dims}d({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups})")


def attention_step(writer: Writer, x: str) -> None:
    """Adds attention of a value to keys and values: the library's, or written out; causal, with a mask of numbers or of bools, or without."""
    value, random = writer.values[x], writer.random
    if value.dim() < 2:
        return
    *batch, queries, width = value.shape
    keys = random.choice((queries, *WIDTHS[1:]))
    if math.prod(batch) * queries * keys * max(width, 1) > MOST_MULTIPLICATIONS:
        return
    if keys == queries and random.random() < 0.4:
        key = content = x
    else:
        key, content = (factor_of(writer, (*batch, keys, width), 1, value.dtype) for _ in range(2))
    mask = random.choice(
        (
            None,
            factor_of(writer, (queries, keys), 1, value.dtype),
            # Each query sees a key at least: PyTorch does not define a softmax without a term.
            f"(torch.arange({keys}) - {random.choice((0, 1))} <= torch.arange({queries})[:, None])",
        )
    )
    if random.random() < 0.5:
        is_causal = mask is None and random.random() < 0.5
        scale = random.choice((None, None, 0.25))
        writer.emit(
            f"{FUNCTIONAL}.scaled_dot_product_attention({x}, {key}, {content}, attn_mask={mask}, is_causal={is_causal}, scale={scale})"
        )
        return
    scores = f"({x} @ {key}.transpose(-1, -2)) * 0.125"
    if mask is not None:
        scores = f"({scores}).masked_fill(~{mask}, -1e4)" if mask.startswith("(torch.") else f"{scores} + {mask}"
    # Line by line, as captured graphs have it.
    steps = (scores, f"{FUNCTIONAL}.softmax({{}}, -1)", f"{{}} @ {content}")
    last = ""
    for step in steps:
        last = writer.emit(step.format(last)) or ""
        if not last:
            return


# Products come twice as often as the others.
LIBRARY_STEPS = (product_step, product_step, convolution_step, attention_step)
