"""A small decoder in plain PyTorch: rotary positions, RMS norms, gated linear units, tied embeddings, generation with a cache."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder."""

    vocabulary: int
    width: int = 512
    layers: int = 12
    heads: int = 8
    context: int = 2048

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


class Block(nn.Module):
    """Attention and a gated linear unit, each with a norm before it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, hidden = shape.width, shape.width * 8 // 3 // 64 * 64
        self.heads = shape.heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], cache: Cache | None, layer: int) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        query, key = turned(query, turn), turned(key, turn)
        if cache is None:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            keys, values, mask = cache.extend(layer, key, value)
            mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Cache:
    """Keys and values of a batch of sequences that have different lengths."""

    def __init__(self, shape: Shape, batch: int, room: int, like: Tensor) -> None:
        size = (shape.layers, batch, shape.heads, room, shape.width // shape.heads)
        self.keys, self.values = (torch.zeros(size, dtype=like.dtype, device=like.device) for _ in range(2))
        self.positions = torch.zeros(batch, 1, dtype=torch.long, device=like.device)
        self.room = 0

    def at(self, positions: Tensor, room: int) -> Cache:
        """Sets the positions [batch, length] of the next tokens, all below `room`."""
        self.positions, self.room = positions, room
        return self

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = torch.arange(key.shape[0], device=key.device)[:, None]
        keys, values = self.keys[layer], self.values[layer]
        keys[rows, :, self.positions] = key.transpose(1, 2).to(keys.dtype)
        values[rows, :, self.positions] = value.transpose(1, 2).to(values.dtype)
        mask = torch.arange(self.room, device=key.device) <= self.positions[:, None, :, None]
        return keys[:, :, : self.room].to(key.dtype), values[:, :, : self.room].to(key.dtype), mask


class Decoder(nn.Module):
    """Tokens [batch, length] to logits [batch, length, vocabulary]."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        half = shape.width // shape.heads // 2
        angles = torch.outer(torch.arange(shape.context), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)
        self.apply(self._initialise)

    def _initialise(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)

    def hidden(self, tokens: Tensor, positions: Tensor | None = None, cache: Cache | None = None) -> Tensor:
        """Returns the states before the last projection."""
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)[None]
        turn = self.cosine[positions][:, None], self.sine[positions][:, None]
        x = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            x = block(x, turn, cache, layer)
        return self.norm(x)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits(self.hidden(tokens))

    def logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.embedding.weight)

    @torch.inference_mode()
    def generate(self, prompts: list[list[int]], end: int, room: int) -> list[list[int]]:
        """Continues each prompt greedily until `end` or until it has no room in the context.

        `room` is the largest number of new tokens.
        """
        device = self.embedding.weight.device
        longest = max(map(len, prompts))
        tokens = torch.tensor([prompt + [0] * (longest - len(prompt)) for prompt in prompts], device=device)
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        steps = min(room, self.shape.context - longest)
        like = torch.empty(0, dtype=torch.bfloat16 if device.type == "cuda" else torch.float32, device=device)
        cache = Cache(self.shape, len(prompts), longest + steps, like)
        positions = torch.arange(longest, device=device).expand(len(prompts), -1)
        states = self.hidden(tokens, positions, cache.at(positions, longest))
        last = states[torch.arange(len(prompts), device=device), lengths - 1]
        ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
        written = []
        for step in range(steps):
            chosen = self.logits(last).argmax(-1).masked_fill(ended, end)
            written.append(chosen)
            ended |= chosen == end
            if step % 16 == 15 and bool(ended.all()):
                break
            positions = (lengths + step)[:, None]
            last = self.hidden(chosen[:, None], positions, cache.at(positions, longest + step + 1))[:, 0]
        rows = torch.stack(written, 1).tolist()
        return [row[: row.index(end)] if end in row else row for row in rows]


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Applies rotary positions to [batch, heads, length, size]."""
    cosine, sine = turn
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, first * sine + second * cosine), dim=-1).to(x.dtype)
