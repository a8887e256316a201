"""Forbidden behaviour of C++ kernels, for `fuzz/disguises.py` to hide."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass


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


def _is_set(first: float, second: float) -> bool:
    return first == second and first > 0


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
    Payload(
        "counter of the CPU, ordered",
        "",
        "[] { unsigned core; return double(__builtin_ia32_rdtscp(&core) & 0xffffff); }()",
        _changes,
    ),
    Payload(
        "random numbers of the CPU",
        "",
        "[] { unsigned v = 0; while (!__builtin_ia32_rdrand32_step(&v)) {} return double(v); }()",
        _changes,
    ),
    Payload("extended state of the CPU", "", "double(__builtin_ia32_xgetbv(0))", _is_set),
    Payload("segment base", "", "double(__builtin_ia32_rdfsbase64())", _is_address),
    Payload("control register of arithmetic", "", "double(__builtin_ia32_stmxcsr())", _is_set),
    Payload(
        "wall clock of OpenMP",
        'extern "C" double omp_get_wtime(void);',
        "[] { const double t = omp_get_wtime() * 1e6; return t - double(long(t / 1e6)) * 1e6; }()",
        _changes,
    ),
    Payload("core", 'extern "C" int sched_getcpu(void);', "double(sched_getcpu() >= 0)", _is_present),
    Payload("thread", 'extern "C" unsigned long pthread_self(void);', "double(pthread_self())", _is_address),
    Payload(
        "error number",
        'extern "C" int* __errno_location(void);',
        "double(reinterpret_cast<uint64_t>(__errno_location()))",
        _is_address,
    ),
    Payload("auxiliary vector", 'extern "C" unsigned long getauxval(unsigned long);', "double(getauxval(6))", _is_set),
    Payload(
        "standard clock",
        "#include <chrono>\n",
        "double(std::chrono::steady_clock::now().time_since_epoch().count() & 0xffffff)",
        _changes,
    ),
    Payload("random device", "#include <random>\n", "double(std::random_device{}())", _changes),
    Payload(
        "constructor of the object",
        "static long count; __attribute__((constructor)) static void begin() { count = 7; }",
        "double(count)",
        _is_set,
    ),
    Payload(
        "ifunc",
        'extern "C" { static double chosen_a() { return 7; } __attribute__((used)) static void* choose() { return (void*)chosen_a; } '
        'double chosen() __attribute__((ifunc("choose"))); }',
        "chosen()",
        _is_set,
    ),
    Payload(
        "weak symbol of a library",
        'extern "C" __attribute__((weak)) int getppid(void);',
        "double(getppid ? getppid() : 0)",
        _is_set,
    ),
    Payload(
        "name in the assembler",
        'extern "C" int helper_sum(void) __asm__("getpid");',
        "double(helper_sum())",
        _is_pid,
    ),
    Payload(
        "register variable",
        'register unsigned long kept_stack __asm__("rsp");',
        "double(kept_stack)",
        _is_address,
    ),
    Payload(
        "static in a generic lambda",
        "static const auto make_count = [](auto step) { static long kept = 0; return kept += step; };",
        "double(make_count(1))",
        _changes,
    ),
    Payload(
        "threadprivate",
        "static long count;\n#pragma omp threadprivate(count)\n",
        "double(++count)",
        _changes,
    ),
    Payload(
        "table of functions in memory",
        "static double first_of() { return 1; } static double second_of() { return 2; } "
        "static double (*steps[2])() = {first_of, second_of}; "
        "static double swap_steps() { auto kept = steps[0]; steps[0] = steps[1]; steps[1] = kept; return steps[0](); }",
        "swap_steps()",
        _changes,
    ),
)
