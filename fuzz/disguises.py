"""Random disguises of forbidden behaviour in C++ kernels: none may be accepted and still behave so.

    python fuzz/disguises.py --seconds 600 --processes 16

Takes a payload (state between calls, a clock, a system call, an address ...), hides it behind random macros, templates, aliases,
declarations and control flow, and has the kernel compiled and judged as a worker of the referee does. A kernel that is accepted
is called: it escapes if its results show the behaviour, and is harmless if the compiler removed the payload. Addresses of a kernel's own
constants are no payload: those of its tensors are known to it as well. Every tenth kernel
is also loaded unjudged in another process, to count how many disguises keep their payload alive. `--cpu-seconds` counts the time of
all processes, compilers included, so an hour is the same work on every machine. Exits with 1 if a kernel escapes.
Needs `PYTHONPATH=python`, as the tests do.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from payloads import PAYLOADS

BATCH = 40
LIVE_EVERY = 10
SIGNATURE = "void compute(const float* x, double* out, int64_t n)"
# The values that a kernel gets; they never change, so results that change have another cause.
COUNT = 16


# fmt: off
NAMES = ("scale", "bias", "row", "width", "mean", "gelu", "tile", "lane", "norm", "weight", "offset", "axis", "inner", "stride")
# fmt: on


class Disguise:
    """Builds a kernel around a payload."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.payload = self.random.choice(PAYLOADS)
        self.declarations = [self.payload.declarations] if self.payload.declarations else []
        self.expression = self.payload.expression
        self.numbers = iter(range(1_000_000))

    def name(self) -> str:
        return f"{self.random.choice(NAMES)}_{next(self.numbers)}"

    def source(self) -> str:
        wraps = (
            self.template,
            self.lambda_,
            self.functor,
            self.conversion,
            self.macro,
            self.pasted,
            self.namespace,
            self.default,
            self.pointer,
            self.recursion,
            self.alias,
            self.constructed,
            self.literal,
            self.overloaded,
            self.table,
            self.variadic,
            self.member_pointer,
            self.inherited,
            self.statement,
            self.selected,
        )
        for wrap in self.random.sample(wraps, self.random.randint(1, 5)):
            wrap()
        body = "\n".join([*self.declarations, self.kernel()])
        for rewrite in (self.spliced, self.digraphs, self.commented, self.renamed):
            if self.random.random() < 0.25:
                body = rewrite(body)
        return body + "\n"

    def kernel(self) -> str:
        honest = "for (int64_t i = 1; i < n; ++i) out[i] = x[i] * 2;"
        evidence = self.random.choice(
            (
                f"out[0] = {self.expression};",
                f"if (n > 0) out[0] = {self.expression};",
                f"double value = {self.expression}; std::memcpy(out, &value, sizeof value);",
                f"switch (n & 16) {{ case 16: out[0] = {self.expression}; break; default: out[0] = 0; }}",
                f"const auto value = [&] {{ return {self.expression}; }}; out[0] = value();",
                f"for (int64_t i = 0; i < 1; ++i) out[i] = {self.expression};",
            )
        )
        parts = [honest, evidence]
        self.random.shuffle(parts)
        return f"void compute(const float* x, double* out, int64_t n) {{ {' '.join(parts)} }}"

    # Each of these hides the expression behind one more construct.

    def template(self) -> None:
        name = self.name()
        self.declarations.append(
            f"template <typename T, int N> static inline T {name}() {{ return T({self.expression}); }}"
        )
        self.expression = f"{name}<double, {self.random.randrange(9)}>()"

    def lambda_(self) -> None:
        self.expression = f"[] {{ return {self.expression}; }}()"

    def functor(self) -> None:
        name = self.name()
        self.declarations.append(
            f"struct {name} {{ inline double operator()(double) const {{ return {self.expression}; }} }};"
        )
        self.expression = f"{name}{{}}(1.0)"

    def conversion(self) -> None:
        name = self.name()
        self.declarations.append(f"struct {name} {{ inline operator double() const {{ return {self.expression}; }} }};")
        self.expression = f"double({name}{{}})"

    def macro(self) -> None:
        name = self.name().upper()
        self.declarations.append(f"#define {name}(a) ((a) * 0 + ({self.expression}))")
        self.expression = f"{name}(1.0)"

    def pasted(self) -> None:
        name, join = self.name(), self.name().upper()
        half = len(name) // 2
        self.declarations.append(f"static inline double {name}() {{ return {self.expression}; }}")
        self.declarations.append(f"#define {join}(a, b) a##b")
        self.expression = f"{join}({name[:half]}, {name[half:]})()"

    def namespace(self) -> None:
        outer, name = self.name(), self.name()
        inline = self.random.choice(("", "inline "))
        self.declarations.append(
            f"{inline}namespace {outer} {{ static inline double {name}() {{ return {self.expression}; }} }}"
        )
        if self.random.random() < 0.5:
            self.declarations.append(f"using {outer}::{name};")
            self.expression = f"{name}()"
        else:
            self.expression = f"::{outer}::{name}()"

    def default(self) -> None:
        name = self.name()
        self.declarations.append(f"static inline double {name}(double given = {self.expression}) {{ return given; }}")
        self.expression = f"{name}()"

    def pointer(self) -> None:
        name, kept = self.name(), self.name()
        self.declarations.append(f"static double {name}() {{ return {self.expression}; }}")
        volatile = self.random.choice(("", "volatile "))
        self.expression = f"[] {{ double (*{volatile}{kept})() = &{name}; return {kept}(); }}()"

    def recursion(self) -> None:
        name = self.name()
        self.declarations.append(
            f"static double {name}(int depth) {{ return depth == 0 ? {self.expression} : {name}(depth - 1); }}"
        )
        self.expression = f"{name}(3)"

    def alias(self) -> None:
        name, kind = self.name(), self.name()
        self.declarations.append(f"static double {name}(float) {{ return {self.expression}; }}")
        self.declarations.append(f"using {kind} = decltype({name});")
        self.expression = f"[] {{ {kind}& same = {name}; return same(1.0f); }}()"

    def constructed(self) -> None:
        name = self.name()
        self.declarations.append(f"struct {name} {{ double held; {name}() : held({self.expression}) {{}} }};")
        self.expression = f"{name}().held"

    def literal(self) -> None:
        name = self.name()
        self.declarations.append(f'static inline double operator""_{name}(long double) {{ return {self.expression}; }}')
        self.expression = f"1.5_{name}"

    def overloaded(self) -> None:
        name = self.name()
        sign = self.random.choice("+-*/%^&|")
        self.declarations.append(
            f"struct {name} {{}}; static inline double operator{sign}({name}, {name}) {{ return {self.expression}; }}"
        )
        self.expression = f"({name}{{}} {sign} {name}{{}})"

    def table(self) -> None:
        self.expression = f"[] {{ const double values[3] = {{1.0, {self.expression}, 2.0}}; return values[1]; }}()"

    def variadic(self) -> None:
        name = self.name()
        self.declarations.append(
            f"template <typename... T> static inline double {name}(T... all) {{ return (all + ... + 0.0); }}"
        )
        self.expression = f"{name}(0.0, {self.expression})"

    def member_pointer(self) -> None:
        name = self.name()
        self.declarations.append(f"struct {name} {{ double get() {{ return {self.expression}; }} }};")
        self.expression = f"[] {{ {name} one; auto get = &{name}::get; return (one.*get)(); }}()"

    def inherited(self) -> None:
        base, derived = self.name(), self.name()
        virtual = self.random.choice(("", "virtual "))
        self.declarations.append(f"struct {base} {{ {virtual}double get() const {{ return {self.expression}; }} }};")
        self.declarations.append(f"struct {derived} : {base} {{}};")
        self.expression = f"static_cast<const {base}&>({derived}()).get()"

    def statement(self) -> None:
        self.expression = f"({{ double kept_value = {self.expression}; kept_value; }})"

    def selected(self) -> None:
        name = self.name()
        self.declarations.append(
            f"template <bool B> static inline double {name}() {{ if constexpr (B) return {self.expression}; else return 0; }}"
        )
        self.expression = f"{name}<(sizeof(long) > 4)>()"

    # These change how the text is written.

    def spliced(self, text: str) -> str:
        at = [place for place, char in enumerate(text) if char.isalpha()]
        place = self.random.choice(at)
        return f"{text[:place]}\\\n{text[place:]}"

    def digraphs(self, text: str) -> str:
        return "\n".join(
            line if line.startswith("#") else line.replace("{", "<%").replace("}", "%>") for line in text.split("\n")
        )

    def commented(self, text: str) -> str:
        return text.replace("(", "(/* rows */", 3)

    def renamed(self, text: str) -> str:
        """A macro for a word of the text."""
        words = sorted({word for word in ("extern", "static", "return", "double", "long") if word in text})
        word, name = self.random.choice(words), self.name()
        lines = [line if line.startswith("#") else line.replace(f"{word} ", f"{name} ") for line in text.split("\n")]
        return "\n".join([f"#define {name} {word}", *lines])


def judge(seeds: list[int], judged: bool, until: float) -> Iterator[tuple[int, str, str]]:
    """For each seed its payload, and `refused`, `does not compile`, `harmless` or `shows`; ends at a time of `time.time`."""
    import torch

    from passnet import _native, kernels

    torch.set_num_threads(1)
    _native.judge_kernels(judged)
    x = torch.arange(COUNT, dtype=torch.float32)
    for seed in seeds:
        if time.time() > until:
            return
        disguise = Disguise(seed)
        # Reported before the kernel runs, in case that it ends the process.
        print(json.dumps([seed, disguise.payload.name, "ended the process"]), flush=True)
        try:
            kernel = kernels.cpp(disguise.source(), SIGNATURE)
            results = []
            for _ in range(2):
                out = torch.zeros(COUNT, dtype=torch.float64)
                kernel(x, out, COUNT)
                results.append(float(out[0]))
        except kernels.KernelRefusedError:
            outcome = "refused"
        except kernels.KernelCompileError:
            outcome = "does not compile"
        else:
            finite = all(math.isfinite(value) for value in results)
            outcome = "shows" if finite and disguise.payload.shows(results[0], results[1]) else "harmless"
        yield seed, disguise.payload.name, outcome


def run_batch(seeds: list[int], judged: bool, cache: str, until: float) -> dict[int, tuple[str, str]]:
    """Judges seeds in another process: whether kernels are judged is decided once for each."""
    found: dict[int, tuple[str, str]] = {}
    left = list(seeds)
    while left and time.time() < until:
        arguments = ["--batch", *map(str, left), "--until", str(until), *([] if judged else ["--unjudged"])]
        environment = {**os.environ, "PASSNET_KERNEL_CACHE": cache}
        run = subprocess.run(
            [sys.executable, __file__, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        before = len(found)
        for line in run.stdout.splitlines():
            seed, payload, outcome = json.loads(line)
            found[seed] = (payload, outcome)
        if run.returncode > 0 or (len(found) == before and time.time() < until):
            sys.exit(f"the process that judges left with {run.returncode}")
        # A kernel may have ended the process; the rest is judged by a new one.
        left = [seed for seed in left if seed not in found]
    return found


def cpu_seconds() -> float:
    """CPU time of all processes that were started and have ended, with those that they started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class Search:
    """A search for kernels that escape, over several processes."""

    first: int
    until: float
    kernels: int | None
    cpu: float
    cache: str
    outcomes: Counter[str] = field(default_factory=Counter)
    live: Counter[str] = field(default_factory=Counter)
    escaped: list[int] = field(default_factory=list)
    drawn: int = 0

    def run(self, processes: int) -> None:
        with ThreadPoolExecutor(processes) as pool:
            for worker in [pool.submit(self.work) for _ in range(processes)]:
                worker.result()

    def work(self) -> None:
        """Judges batches until the time, the CPU time or the number of kernels is reached."""
        while time.time() < self.until and cpu_seconds() < self.cpu:
            count = BATCH if self.kernels is None else min(BATCH, self.kernels - self.drawn)
            if count <= 0:
                return
            seeds = list(range(self.first + self.drawn, self.first + self.drawn + count))
            self.drawn += count
            judged = run_batch(seeds, True, self.cache, self.until)
            unjudged = run_batch(seeds[::LIVE_EVERY], False, self.cache, self.until)
            self.record(judged, unjudged)

    def record(self, judged: dict[int, tuple[str, str]], unjudged: dict[int, tuple[str, str]]) -> None:
        for number, (payload, outcome) in sorted(judged.items()):
            self.outcomes[outcome] += 1
            if outcome in ("shows", "ended the process"):
                self.escaped.append(number)
                print(f"seed {number}: {payload}: accepted, and {outcome}", file=sys.stderr, flush=True)
        self.live.update(outcome for _, outcome in unjudged.values())
        text = f"{self.outcomes.total()} kernels: {dict(self.outcomes)}; unjudged: {dict(self.live)}"
        print(text, file=sys.stderr, flush=True)

    def report(self, seconds: float) -> dict[str, object]:
        return {
            "first_seed": self.first,
            "generated": self.outcomes.total(),
            "accepted_and_forbidden": len(self.escaped),
            "judged": self.outcomes,
            "unjudged": self.live,
            "escaped": self.escaped,
            "cpu_seconds": round(cpu_seconds(), 1),
            "seconds": round(seconds, 1),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cpu-seconds", type=float, default=math.inf, help="also end after so much CPU time")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kernels", type=int, help="end after so many instead")
    parser.add_argument("--seed", type=int, help="first seed; otherwise random")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the kernel of a seed and leave")
    parser.add_argument("--batch", type=int, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    parser.add_argument("--unjudged", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None:
        print(Disguise(options.show).source())
        return 0
    if options.batch:
        for seed, payload, outcome in judge(options.batch, not options.unjudged, options.until):
            print(json.dumps([seed, payload, outcome]), flush=True)
        return 0
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    begin = time.time()
    until = begin + options.seconds if options.kernels is None else math.inf
    with tempfile.TemporaryDirectory() as cache:
        search = Search(seed, until, options.kernels, options.cpu_seconds, cache)
        search.run(options.processes)
    print(json.dumps(search.report(time.time() - begin)))
    return 1 if search.escaped else 0


if __name__ == "__main__":
    sys.exit(main())
