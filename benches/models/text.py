"""Models of text."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

Built = tuple[nn.Module, tuple[torch.Tensor, ...]]


def _tokens(batch: int, length: int, vocabulary: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, (batch, length))


class BertLayer(nn.Module):
    """Attention written out, with layer norm after each sum."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2, self.dropout = nn.LayerNorm(width), nn.LayerNorm(width), nn.Dropout(0.1)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self._split(self.query(x)), self._split(self.key(x)), self._split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        attended = self.dropout(F.softmax(scores, dim=-1)) @ v
        attended = attended.transpose(1, 2).contiguous().view(x.shape)
        x = self.norm1(x + self.dropout(self.out(attended)))
        return self.norm2(x + self.dropout(self.down(F.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self, vocabulary: int, width: int, heads: int, layers: int, length: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(BertLayer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.positions(places))
        bias = (1.0 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))


def bert() -> Built:
    """An encoder with attention written out, as in BERT."""
    mask = torch.ones(2, 64, dtype=torch.int64)
    mask[1, 40:] = 0
    return Bert(1000, 256, 4, 4, 64), (_tokens(2, 64, 1000), mask)


class GptBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        y = self.up(self.norm2(x))
        # GPT-2 writes GELU's approximation by tanh out.
        y = 0.5 * y * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (y + 0.044715 * torch.pow(y, 3.0))))
        return x + self.down(y)


class Gpt(nn.Module):
    def __init__(self, vocabulary: int, width: int, heads: int, layers: int, length: int):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.words(tokens) + self.positions(places))))


def gpt() -> Built:
    """A decoder with tied weights, as in GPT-2."""
    return Gpt(1000, 256, 4, 4, 64), (_tokens(1, 64, 1000),)


class RmsNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class T5Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = (
            nn.Linear(*size, bias=False) for size in ((width, 2 * width),) * 2 + ((2 * width, width),)
        )

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        scores = self._split(self.q(y)) @ self._split(self.k(y)).transpose(2, 3) + bias
        attended = F.softmax(scores.float(), dim=-1).type_as(scores) @ self._split(self.v(y))
        x = x + self.o(attended.transpose(1, 2).reshape(x.shape))
        y = self.norm2(x)
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))


class T5Encoder(nn.Module):
    def __init__(self, vocabulary: int, width: int, heads: int, layers: int):
        super().__init__()
        self.words, self.bias = nn.Embedding(vocabulary, width), nn.Embedding(32, heads)
        self.blocks = nn.ModuleList(T5Block(width, heads) for _ in range(layers))
        self.norm = RmsNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        distance = (places[None, :] - places[:, None]).clamp(-16, 15) + 16
        bias = self.bias(distance).permute(2, 0, 1)[None]
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, bias)
        return self.norm(x)


def t5_encoder() -> Built:
    """An encoder with root mean square norm, relative positions and gated GELU, as in T5."""
    return T5Encoder(1000, 256, 4, 4), (_tokens(1, 64, 1000),)
