"""Signatures of kernels: the types of arguments, and the declaration for the compiler.

A signature is a C declaration with three additions, which are removed before compilation:

- `const float x[rows * width]` is a pointer to that many elements; the names are those of integer parameters.
- `const float* strided x` takes a tensor with any strides. The kernel gets the strides as numbers. Other tensors are contiguous.
- `parallel int64_t begin, int64_t end` is a range that the launcher may split: it then calls the kernel for parts of it at the
  same time, in the threads that PyTorch's own operations use.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

_SIGNATURE = re.compile(r"\s*void\s+([A-Za-z_]\w*)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*;?\s*")
_PARAMETER = re.compile(
    r"\s*(?P<parallel>parallel\s+)?(?P<const>const\s+)?(?P<type>[A-Za-z_]\w*)(?P<pointer>\s*\*\s*|\s+)(?:const\s+)?(?:__restrict__\s+)?"
    r"(?P<strided>strided\s+)?(?P<name>[A-Za-z_]\w*)\s*(?:\[(?P<extent>[^\[\]]*)\])?\s*"
)

# Codes of number types: the number of bits of an integer, `f` and `d` for floats.
_NUMBERS = {
    "bool": "u1",
    "int": "i32",
    "int32_t": "i32",
    "int64_t": "i64",
    "uint32_t": "u32",
    "uint64_t": "u64",
    "size_t": "u64",
    "float": "f",
    "double": "d",
}

_ELEMENTS = {
    "float": ("float32",),
    "double": ("float64",),
    **dict.fromkeys(("float16", "_Float16", "__half", "half"), ("float16",)),
    **dict.fromkeys(("bfloat16", "__bf16", "__nv_bfloat16"), ("bfloat16",)),
    "bool": ("bool",),
    "int8_t": ("int8",),
    "int16_t": ("int16",),
    **dict.fromkeys(("int", "int32_t"), ("int32",)),
    "int64_t": ("int64",),
    # An unsigned type also accepts the bits of all types of its size. `char` and `void` accept any type.
    "uint8_t": ("uint8", "int8", "bool", "float8_e4m3fn", "float8_e5m2"),
    "uint16_t": ("uint16", "int16", "float16", "bfloat16"),
    "uint32_t": ("uint32", "int32", "float32"),
    **dict.fromkeys(("uint64_t", "size_t"), ("uint64", "int64", "float64", "complex64")),
    **dict.fromkeys(("char", "void"), ()),
}

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "/"}

Term = tuple[str, int]
"""A parameter, number or operator of an expression in postfix notation."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `extent` is the number of elements of a pointer, if the signature has it. `is_parallel` marks
    the first of the two parameters of a range."""

    name: str
    type: str
    is_const: bool
    is_pointer: bool
    is_strided: bool
    extent: str | None
    is_parallel: bool = False


@dataclass(frozen=True)
class Signature:
    """The declaration of a kernel."""

    name: str
    parameters: tuple[Parameter, ...]

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Reads a signature. Raises `ValueError`."""
        whole = _SIGNATURE.fullmatch(text)
        if whole is None:
            raise ValueError(f"`{text}` is not of the form `void NAME(TYPE NAME, ...)`")
        parts = whole[2].split(",") if whole[2].strip() else []
        signature = cls(whole[1], tuple(_parameter(text, part) for part in parts))
        signature._check_range(text)
        return signature

    @property
    def range(self) -> int | None:
        """Position of the parameter with the begin of the range; the next parameter is its end. None if there is no range."""
        return next((place for place, parameter in enumerate(self.parameters) if parameter.is_parallel), None)

    def _check_range(self, text: str) -> None:
        if self.range is None:
            return
        both = self.parameters[self.range : self.range + 2]
        is_pair = len(both) == 2 and all(end.type == "int64_t" and not end.is_pointer for end in both)
        if not is_pair or sum(parameter.is_parallel for parameter in self.parameters) > 1:
            raise ValueError(f"`{text}`: a range is `parallel int64_t BEGIN, int64_t END`, once in a signature")

    @property
    def declaration(self) -> str:
        """Returns the declaration in plain C++."""
        return f"void {self.name}({', '.join(_declared(parameter) for parameter in self.parameters)})"

    def described(self, flags: Sequence[str]) -> list[tuple]:
        """Returns the parameters in the form of `_native`. `flags` may define names of types. Raises `ValueError`."""
        return [self._described(parameter, flags) for parameter in self.parameters]

    def _described(self, parameter: Parameter, flags: Sequence[str]) -> tuple:
        kind = _defined(parameter.type, flags)
        if not parameter.is_pointer:
            code = _NUMBERS.get(kind)
            if code is None:
                raise ValueError(
                    f"`{self.name}`: `{parameter.type}` is neither a pointer nor one of {', '.join(_NUMBERS)}"
                )
            return parameter.name, parameter.type, code, [], False, False, None
        if kind not in _ELEMENTS:
            message = (
                f"`{self.name}`: no tensor has elements of type `{parameter.type}`, only of {', '.join(_ELEMENTS)}"
            )
            raise ValueError(f"{message}; name it by a flag such as `-D{parameter.type}=float`")
        dtypes = [getattr(torch, name) for name in _ELEMENTS[kind] if hasattr(torch, name)]
        shown = f"{'const ' if parameter.is_const else ''}{parameter.type}*"
        extent = None if parameter.extent is None else self._terms(parameter)
        return parameter.name, shown, "*", dtypes, parameter.is_strided, not parameter.is_const, extent

    def _terms(self, parameter: Parameter) -> list[Term]:
        """Returns the extent of a parameter in postfix notation."""
        places = {other.name: place for place, other in enumerate(self.parameters) if not other.is_pointer}

        def terms(node: ast.expr) -> list[Term]:
            match node:
                case ast.Constant(value=int(number)):
                    return [("number", number)]
                case ast.Name(id=name) if name in places:
                    return [("parameter", places[name])]
                case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                    return [*terms(left), *terms(right), (_OPERATORS[type(op)], 0)]
            message = f"`{self.name}`: the size `{parameter.extent}` of `{parameter.name}` is not an expression"
            raise ValueError(f"{message} of numbers and integer parameters with + - * /")

        try:
            return terms(ast.parse(parameter.extent.strip(), mode="eval").body)
        except SyntaxError:
            raise ValueError(
                f"`{self.name}`: cannot read the size `{parameter.extent}` of `{parameter.name}`"
            ) from None


def _parameter(signature: str, text: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    is_pointer = found is not None and ("*" in found["pointer"] or found["extent"] is not None)
    if found is None or (found["strided"] and not is_pointer):
        raise ValueError(f"`{signature}`: cannot read the parameter `{text.strip()}`")
    if "*" in found["pointer"] and found["extent"] is not None:
        element, name, extent = found["type"], found["name"], found["extent"]
        raise ValueError(f"`{signature}`: `{text.strip()}` is an array of pointers; write `{element} {name}[{extent}]`")
    return Parameter(
        name=found["name"],
        type=found["type"],
        is_const=found["const"] is not None,
        is_pointer=is_pointer,
        is_strided=found["strided"] is not None,
        extent=found["extent"],
        is_parallel=found["parallel"] is not None,
    )


def _declared(parameter: Parameter) -> str:
    const = "const " if parameter.is_const else ""
    return f"{const}{parameter.type}{'* ' if parameter.is_pointer else ' '}{parameter.name}"


def _defined(name: str, flags: Sequence[str]) -> str:
    """Returns the type that flags such as `-Delement=float` define a name as, else the name."""
    definitions = dict(flag[2:].split("=", 1) for flag in flags if flag.startswith("-D") and "=" in flag)
    return definitions.get(name, name)
