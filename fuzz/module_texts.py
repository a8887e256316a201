"""Texts of random modules, for `modules.py`."""

from __future__ import annotations

import random

# Columns of matrices. Rows differ between calls.
COLUMNS = 8
# Statements by the kinds of their arguments and the kind of their result. A: a matrix, T: a transposed one, R: a row, H: half of the
# columns. `{a}` and `{b}` are values of the first kind, `{r}` is a row.
PURE = {
    "AA": [
        *(
            "torch.relu({a})",
            "torch.tanh({a}) * 2",
            "{a} * self.scale + 1",
            "{a} + {b}",
            "{a} - {r}",
            "{a} * {b}.sigmoid()",
        ),
        *("torch.where({a} > 0, {a}, {b})", "{a}.clone()", "{a}.contiguous()", "{a}.flip(0)", "torch.softmax({a}, 1)"),
        *("self.first({a})", "self.second({a})", "{a}.to(torch.bfloat16).to({a}.dtype)", "{a}.double().to({a}.dtype)"),
        *("torch.nn.functional.layer_norm({a}, {a}.shape[1:])", "torch.cat([{a}, {b}])[: {a}.shape[0]]", "{a}[:]"),
        *("{a}.reshape(-1).reshape({a}.shape)", "{a}.view({a}.shape)", "{a}.detach()", "torch.nn.functional.gelu({a})"),
        *(
            "self.drop({a})",
            "{a}.cumsum(1) / 9",
            "{r}.expand({a}.shape)",
            "{a}.addcmul({b}, {r}, value=0.5)",
            "self.norm({a})",
        ),
        *(
            "{a}.unsqueeze(0).squeeze(0)",
            "torch.stack([{a}, {b}])[1]",
            "{a} + self.table[self.index % 4]",
            "{a}.abs().sqrt()",
        ),
        *("(torch.tanh({a}) if self.flag else {a} * 3)", "{a} * {a}.shape[0]", "torch.einsum('ij,j->ij', {a}, {r})"),
    ],
    "AT": ["{a}.t()", "{a}.transpose(0, 1)", "{a}.mT * 2"],
    "TA": ["{a}.t()", "torch.exp(-{a}.abs()).permute(1, 0)"],
    "AR": ["{a}.mean(0)", "{a}[0]", "{a}.amax(0) * 2", "{a}.sum(0).tanh()", "{a}.unbind(0)[1]"],
    "RR": ["{a} * 2 + 1", "{a} + {b}", "{a}.sigmoid()", "self.shift * {a}"],
    "AH": ["{a}[:, : {a}.shape[1] // 2]", "{a}.chunk(2, 1)[1]", "{a}[:, ::2]", "torch.relu({a})[:, ::2]"],
    "HA": ["torch.cat([{a}, {b}], 1)", "{a}.repeat(1, 2)", "{a}.repeat_interleave(2, 1)"],
    "HH": ["{a} * {b}", "{a}.tanh() + 1", "-{a}"],
}
WRITES = {
    "A": [
        *(
            "{a}.add_({b})",
            "{a}.mul_(2).clamp_(-4, 4)",
            "{a}.relu_()",
            "{a}[0] = {r}",
            "{a}[:, 1:2].zero_()",
            "{a}.copy_({b} * 2)",
        ),
        *(
            "{a}.masked_fill_({a} > 1, 0.5)",
            "torch.mul({b}, 2, out={a})",
            "{a} += {r}",
            "{a}[1:].add_({a}[:-1].flip(0))",
        ),
        *(
            "torch.nn.functional.relu({a}, inplace=True)",
            "{a}.index_add_(0, self.index % 2, {b}[:3])",
            "{a}.t().mul_(0.5)",
        ),
        "torch.nn.functional.hardtanh_({a})",
    ],
    "R": [
        "{a}.add_({b})",
        "{a}.mul_(0.5)",
        "self.average.mul_(0.9).add_({a}.detach(), alpha=0.1)",
        "{a}.sub_(self.shift.detach())",
    ],
    "H": ["{a}.mul_({b})", "{a}.zero_()"],
    "T": ["{a}.add_(1)", "{a}[:, 0] = 2"],
    "": ["self.count += 1", "self.average.add_(1)", "self.average = self.average * 0.5"],
}
HEAD = """
import torch

class Random(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear({m}, {m})
        self.second = torch.nn.Linear({m}, {m}, bias=False)
        self.norm = torch.nn.BatchNorm1d({m})
        self.drop = torch.nn.Dropout(0.0)
        self.shift = torch.nn.Parameter(torch.linspace(-1, 1, {m}))
        self.register_buffer("average", torch.ones({m}))
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("table", torch.linspace(0, 3, 4 * {m}).reshape(4, {m})[:, None])
        self.table = self.table[:, 0][:3].mean(0).expand(4, {m}).clone()
        self.index = torch.tensor([3, 1, 6])
        self.scale, self.flag = 1.5, True

    def forward(self, x, y, *, bag):
"""
HEAD = HEAD.replace("self.table[self.index % 4]", "self.table")


class Source:
    """Writes the code of one module. Statements that eager mode refuses are left out by `Random`."""

    def __init__(self, choose: random.Random, steps: int) -> None:
        self.choose = choose
        self.kinds = {"x": "A", "y": "A", "z": "A", "r": "R", "h": "H"}
        self.lines = ["z, (r, h) = bag['z'], bag['pair']"]
        for _ in range(steps):
            self.lines.append(self.statement())
        self.lines.append(f"return {self.result()}")

    def text(self) -> str:
        """Returns the code of the module."""
        return HEAD.format(m=COLUMNS) + "".join(f"        {line}\n" for line in self.lines)

    def statement(self) -> str:
        if self.choose.random() < 0.3:
            kind = self.choose.choice(["A", "A", "A", "R", "H", "T", ""])
            if not kind or kind in self.kinds.values():
                return self.filled(self.choose.choice(WRITES[kind]), kind)
        kinds = self.choose.choice([*PURE, "AA", "AA", "AA", "AR"])
        if kinds[0] not in self.kinds.values():
            return self.statement()
        name = f"v{len(self.kinds)}"
        line = f"{name} = {self.filled(self.choose.choice(PURE[kinds]), kinds[0])}"
        self.kinds[name] = kinds[1]
        return line

    def filled(self, template: str, kind: str) -> str:
        if not kind:
            return template
        # Later values more often, so that statements depend on each other.
        known = [name for name, known in self.kinds.items() if known == kind]
        rows = [name for name, known in self.kinds.items() if known == "R"]
        a, b = self.choose.choice([*known, *known[-2:]]), self.choose.choice(known)
        return template.format(a=a, b=b, r=self.choose.choice(rows))

    def result(self) -> str:
        names = [*self.kinds]
        last = names[-1]
        picked = self.choose.choices([*names, *names[-3:]], k=self.choose.randint(1, 4))
        forms = [
            "{0}",
            "({0}, {1})",
            "{{'out': {0}, 'rest': [{1}, 3]}}",
            "[{0}, None, ({1}, self.count)]",
            "({1}, {1}.sum())",
        ]
        return self.choose.choice(forms).format(last, ", ".join(picked) if len(picked) == 1 else picked[0])
