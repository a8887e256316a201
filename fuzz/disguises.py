"""Random disguises of forbidden behaviour in C++ kernels: none may be accepted and still behave so.

    python fuzz/disguises.py --seconds 600

Takes a payload (state between calls, a clock, a system call, an address ...), hides it behind random macros, templates, aliases,
declarations and control flow, and has the kernel compiled and judged as a worker of the referee does. A kernel that is accepted
is called: it escapes if its results show the behaviour, and is harmless if the compiler removed the payload. Addresses of a kernel's own
constants are no payload: those of its tensors are known to it as well. Every tenth kernel
is also loaded unjudged in another process, to count how many disguises keep their payload alive. Leaves with 1 if a kernel escapes.
Needs `PYTHONPATH=python`, as the tests do.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

BATCH = 40
LIVE_EVERY = 10
SIGNATURE = "void compute(const float* x, double* out, int64_t n)"
# The values that a kernel gets; they never change, so results that change have another cause.
COUNT = 16


@dataclass(frozen=True)
class Payload:
    """Forbidden behaviour: declarations, an expression of type double, and how two results show it."""

    name: str
    declarations: str
    expression: str
    shows: Callable[[float, float], bool]


def _changes(first: float, second: float) -> bool:
    return first != second


def _is_pid(first: float, second: float) -> bool:
    return first == second == os.getpid()


def _is_address(first: float, second: float) -> bool:
    return first > 1e6 and second > 1e6


def _is_present(first: float, second: float) -> bool:
    return first == second == 1


PAYLOADS = (
    Payload(
        "static local", "static inline double tick() { static long count; return double(++count); }", "tick()", _changes
    ),
    Payload("global", "static long count;", "double(++count)", _changes),
    Payload("global in a namespace", "namespace store { long count; }", "double(++store::count)", _changes),
    Payload("thread local", "static thread_local long count;", "double(++count)", _changes),
    Payload("static member", "struct Box { static inline long count = 0; };", "double(++Box::count)", _changes),
    Payload("variable template", "template <class T> T count = 0;", "double(++count<long>)", _changes),
    Payload(
        "member template",
        "template <int N> struct Box { static long count; }; template <int N> long Box<N>::count = 0;",
        "double(++Box<3>::count)",
        _changes,
    ),
    Payload(
        "constant cast",
        "struct Cell { mutable long count; }; static const Cell cell{0};",
        "double(++cell.count)",
        _changes,
    ),
    Payload(
        "initialiser",
        "static double make(); static double first = make(); static double make() { return 1; }",
        "(first += 1)",
        _changes,
    ),
    Payload("counter of the CPU", "", "double(__builtin_ia32_rdtsc() & 0xffffff)", _changes),
    Payload(
        "clock",
        'extern "C" int clock_gettime(int, void*);',
        "[] { long t[2]; clock_gettime(1, t); return double(t[1]); }()",
        _changes,
    ),
    Payload(
        "assembly",
        'static inline double cycles() { unsigned low, high; asm volatile("rdtsc" : "=a"(low), "=d"(high)); return low; }',
        "cycles()",
        _changes,
    ),
    Payload("random numbers", 'extern "C" int rand(void);', "double(rand())", _changes),
    Payload("process", 'extern "C" int getpid(void);', "double(getpid())", _is_pid),
    Payload("system call", 'extern "C" long syscall(long, ...);', "double(syscall(39))", _is_pid),
    Payload(
        "raw system call",
        'static inline double ask() { long r = 39; asm volatile("syscall" : "+a"(r) : : "rcx", "r11", "memory"); return r; }',
        "ask()",
        _is_pid,
    ),
    Payload(
        "file",
        'extern "C" void* fopen(const char*, const char*);',
        'double(fopen("/proc/self/stat", "r") != nullptr)',
        _is_present,
    ),
    Payload("environment", 'extern "C" char* getenv(const char*);', 'double(getenv("PATH") != nullptr)', _is_present),
    Payload("features of the CPU", "", 'double(__builtin_cpu_supports("sse2") != 0)', _is_present),
    Payload("return address", "", "double(reinterpret_cast<uint64_t>(__builtin_return_address(0)))", _is_address),
    Payload(
        "address of a function",
        'extern "C" int puts(const char*);',
        "double(reinterpret_cast<uint64_t>(&puts))",
        _is_address,
    ),
    Payload("thread pointer", "", "double(reinterpret_cast<uint64_t>(__builtin_thread_pointer()))", _is_address),
)

NAMES = (
    "scale",
    "bias",
    "row",
    "width",
    "mean",
    "gelu",
    "tile",
    "lane",
    "norm",
    "weight",
    "offset",
    "axis",
    "inner",
    "stride",
)


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


def judge(seeds: list[int], judged: bool) -> Iterator[tuple[int, str, str]]:
    """For each seed its payload, and `refused`, `does not compile`, `harmless` or `shows`."""
    import torch

    from passnet import _native, kernels

    _native.judge_kernels(judged)
    x = torch.arange(COUNT, dtype=torch.float32)
    for seed in seeds:
        disguise = Disguise(seed)
        # Said before the kernel runs, in case that it ends the process.
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


def run_batch(seeds: list[int], judged: bool, cache: str) -> dict[int, tuple[str, str]]:
    """Judges seeds in another process: whether kernels are judged is decided once for each."""
    found: dict[int, tuple[str, str]] = {}
    left = list(seeds)
    while left:
        arguments = ["--batch", *map(str, left), *([] if judged else ["--unjudged"])]
        environment = {**os.environ, "PASSNET_KERNEL_CACHE": cache}
        run = subprocess.run(
            [sys.executable, __file__, *arguments], env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        for line in run.stdout.splitlines():
            seed, payload, outcome = json.loads(line)
            found[seed] = (payload, outcome)
        if run.returncode > 0:
            sys.exit(f"the process that judges left with {run.returncode}")
        # A kernel may have ended the process; the rest is judged by a new one.
        left = [seed for seed in left if seed not in found]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kernels", type=int, help="end after so many instead")
    parser.add_argument("--seed", type=int, help="first seed; otherwise random")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the kernel of a seed and leave")
    parser.add_argument("--batch", type=int, nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--unjudged", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None:
        print(Disguise(options.show).source())
        return 0
    if options.batch:
        for seed, payload, outcome in judge(options.batch, not options.unjudged):
            print(json.dumps([seed, payload, outcome]), flush=True)
        return 0
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    end = time.monotonic() + options.seconds
    outcomes: Counter[str] = Counter()
    live: Counter[str] = Counter()
    escaped = []
    with tempfile.TemporaryDirectory() as cache:
        while (options.kernels is None and time.monotonic() < end) or sum(outcomes.values()) < (options.kernels or 0):
            seeds = list(range(seed, seed + min(BATCH, options.kernels or BATCH)))
            seed += len(seeds)
            for number, (payload, outcome) in sorted(run_batch(seeds, True, cache).items()):
                outcomes[outcome] += 1
                if outcome in ("shows", "ended the process"):
                    escaped.append(number)
                    print(f"seed {number}: {payload}: accepted, and {outcome}", flush=True)
            live.update(outcome for _, outcome in run_batch(seeds[::LIVE_EVERY], False, cache).values())
            print(
                f"{sum(outcomes.values())} kernels: {dict(outcomes)}; unjudged: {dict(live)}",
                file=sys.stderr,
                flush=True,
            )
    print(
        json.dumps(
            {"first_seed": seed - sum(outcomes.values()), "judged": outcomes, "unjudged": live, "escaped": escaped}
        )
    )
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
