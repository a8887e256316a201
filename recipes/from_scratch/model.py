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
    dropout: float = 0.0

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


class Block(nn.Module):
    """Attention and a gated linear unit, each with a norm before it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.dropout = shape.dropout
        width, hidden = shape.width, shape.width * 8 // 3 // 64 * 64
        self.heads = shape.heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], begins: Tensor, longest: int) -> Tensor:
        """States [T, width] of packed sequences; `begins` is where they begin, and T."""
        query, key, value = self.projected(x, turn)
        return self.mixed(x, attention(query, key, value, begins, longest))

    def step(self, x: Tensor, turn: tuple[Tensor, Tensor], cache: Cache, layer: int) -> Tensor:
        """States [batch, length, width] of the next tokens of sequences whose earlier ones are in `cache`."""
        query, key, value = (part.transpose(1, 2) for part in self.projected(x, turn))
        keys, values, mask = cache.extend(layer, key, value)
        return self.mixed(x, F.scaled_dot_product_attention(query, keys, values, attn_mask=mask).transpose(1, 2))

    def projected(self, x: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries, keys and values [..., heads, size], with their positions."""
        parts = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.unbind(-3)
        return turned(query, turn), turned(key, turn), value

    def mixed(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.dropped(self.out(attended.flatten(-2)))
        gate, up = self.gate(self.norm2(x)).chunk(2, dim=-1)
        return x + self.dropped(self.down(F.silu(gate) * up))

    def dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


def attention(query: Tensor, key: Tensor, value: Tensor, begins: Tensor, longest: int) -> Tensor:
    """Causal attention [T, heads, size] within each of the packed sequences, none of which has more than `longest` tokens."""
    if query.device.type == "cuda" and query.dtype != torch.float32:
        flash = torch.ops.aten._flash_attention_forward
        return flash(query, key, value, begins, begins, longest, longest, 0.0, True, False)[0]
    return padded_attention(query, key, value, begins)


def padded_attention(query: Tensor, key: Tensor, value: Tensor, begins: Tensor) -> Tensor:
    """Computes `attention` on any device, in more time and memory."""
    # One row per sequence. The padding after its end comes later than all its tokens, so causal attention never sees
    # it.
    begins = begins.unique_consecutive()
    longest = int(begins.diff().max())
    at = (begins[:-1, None] + torch.arange(longest, device=begins.device)).clamp(max=len(query) - 1)
    rows = (part[at].transpose(1, 2) for part in (query, key, value))
    inside = torch.arange(longest, device=begins.device) < begins.diff()[:, None]
    return F.scaled_dot_product_attention(*rows, is_causal=True).transpose(1, 2)[inside]


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
    """Packed tokens [T] to logits [T, vocabulary]."""

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

    def forward(self, tokens: Tensor, positions: Tensor, begins: Tensor, longest: int) -> Tensor:
        """Returns logits; `positions` are those of tokens in their sequence, `begins` where sequences begin, and T."""
        turn = self.cosine[positions][:, None], self.sine[positions][:, None]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, turn, begins, longest)
        return self.logits(self.norm(x))

    def next(self, tokens: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        """Returns the states [batch, length, width] of the next tokens, before the last projection."""
        turn = self.cosine[positions][:, :, None], self.sine[positions][:, :, None]
        x = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            x = block.step(x, turn, cache, layer)
        return self.norm(x)

    def logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.embedding.weight)

    @torch.inference_mode()
    def generate(self, prompts: list[list[int]], end: int, room: int, temperature: float = 0.0) -> list[list[int]]:
        """Continues each prompt until `end` or until it has no room in the context.

        `room` is the largest number of new tokens. The most likely token is taken at a `temperature` of 0, else one is drawn.
        """
        device = self.embedding.weight.device
        longest = max(map(len, prompts))
        tokens = torch.tensor([prompt + [0] * (longest - len(prompt)) for prompt in prompts], device=device)
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        steps = min(room, self.shape.context - longest)
        like = torch.empty(0, dtype=torch.bfloat16 if device.type == "cuda" else torch.float32, device=device)
        cache = Cache(self.shape, len(prompts), longest + steps, like)
        positions = torch.arange(longest, device=device).expand(len(prompts), -1)
        states = self.next(tokens, positions, cache.at(positions, longest))
        last = self.logits(states[torch.arange(len(prompts), device=device), lengths - 1])
        ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
        step = Step(self, cache, lengths, longest + steps)
        written = []
        for number in range(steps):
            chosen = drawn(last, temperature).masked_fill(ended, end)
            written.append(chosen)
            ended |= chosen == end
            if number % 16 == 15 and bool(ended.all()):
                break
            last = step(chosen, number)
        rows = torch.stack(written, 1).tolist()
        return [row[: row.index(end)] if end in row else row for row in rows]


class Step:
    """One more token for all sequences of a batch. On a GPU it is recorded once as a CUDA graph, since launches take most of its time."""

    def __init__(self, model: Decoder, cache: Cache, lengths: Tensor, room: int) -> None:
        self.model, self.cache, self.lengths, self.room = model, cache, lengths, room
        self.tokens, self.positions = torch.zeros_like(lengths), lengths.clone()[:, None]
        self.out: Tensor | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.recordable = lengths.device.type == "cuda"

    def __call__(self, tokens: Tensor, number: int) -> Tensor:
        """Returns the logits after `tokens`, of which `number` were there before in each sequence."""
        self.tokens.copy_(tokens)
        torch.add(self.lengths[:, None], number, out=self.positions)
        if self.graph is None and self.recordable and number:
            self.record()
        if self.graph is not None and self.out is not None:
            self.graph.replay()
            return self.out
        return self.compute(self.room if self.recordable else int(self.positions.max()) + 1)

    def compute(self, room: int) -> Tensor:
        states = self.model.next(self.tokens[:, None], self.positions, self.cache.at(self.positions, room))
        return self.model.logits(states[:, 0])

    def record(self) -> None:
        """Records the step. Where that is not possible, steps are computed as before."""
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                # Writes the same keys and values once more: a step has no other effect.
                expected = self.compute(self.room)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.out = self.compute(self.room)
            graph.replay()
            if not torch.allclose(self.out.float(), expected.float(), rtol=0.05, atol=0.05):
                raise RuntimeError("the recorded step gives other results")
            self.graph = graph
        except RuntimeError as error:
            print(f"steps are not recorded: {error}", flush=True)
            self.recordable, self.graph = False, None
            torch.cuda.synchronize()


def drawn(logits: Tensor, temperature: float) -> Tensor:
    if temperature == 0.0:
        return logits.argmax(-1)
    return torch.multinomial(F.softmax(logits.float() / temperature, -1), 1)[:, 0]


def turned(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Applies rotary positions to [..., heads, size]."""
    cosine, sine = turn
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, first * sine + second * cosine), dim=-1).to(x.dtype)
