"""Report on the calls of a compiled model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from passnet._backend.regions import Region
from passnet._compile.rest import Rest


@dataclass
class Specialisation:
    """One kind of call that was captured."""

    inputs: list[str]
    operations: int
    compile_s: float
    regions: list[Region] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    eager_ns: float | None = None
    """Time of the captured graph without passes, in nanoseconds."""
    fused_ns: float | None = None
    """Time of the rewritten graph, in nanoseconds."""
    model_ns: float | None = None
    """Time of a call of the model itself, in nanoseconds; None if whole calls were not timed."""
    call_ns: float | None = None
    """Time of a compiled call with its guards, in nanoseconds; None if whole calls were not timed."""
    by_model: str | None = None
    """Reason why the model itself runs calls of this kind; None if the compiled graph runs."""
    cuda_graph: str = "off"
    """`on`, or `off`, or the reason why the call is no CUDA graph."""
    texts: dict[str, str] = field(default_factory=dict, repr=False)
    """Texts of the author's passes by name."""
    trains: bool = False
    """True if the call requires gradients. The times are then those of forward and backward together."""
    rest: Rest | None = None
    """Operations outside regions; None if they were not timed."""
    left: str | None = None
    """Reason why PyTorch computes the gradients of a call that requires them; None if they are compiled."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the specialisation as plain data, without the texts of passes."""
        fields = {name: value for name, value in vars(self).items() if name != "texts"}
        rest = None if self.rest is None else self.rest.as_dicts()
        return {**fields, "regions": [region.as_dict() for region in self.regions], "rest": rest}

    def lines(self) -> Iterator[str]:
        """Yields the lines of the specialisation as text."""
        kept = [region for region in self.regions if region.kept]
        yield f"({', '.join(self.inputs)}): {self.operations} operations, compiled in {self.compile_s:.2f} s"
        covered = sum(region.operations for region in kept)
        yield f"    {len(kept)} of {len(self.regions)} regions kept, which replace {covered} operations"
        if self.eager_ns is not None and self.fused_ns is not None:
            yield f"    {self.fused_ns / 1e3:.1f} us instead of {self.eager_ns / 1e3:.1f} us"
        if self.by_model is not None:
            yield f"    run by the model itself: {self.by_model}"
        yield f"    CUDA graph: {self.cuda_graph}"
        if self.trains:
            yield f"    gradients: {'compiled' if self.left is None else f'left to PyTorch: {self.left}'}"
        for region in self.regions:
            if not region.kept:
                yield f"    left to PyTorch: {region.rule} ({region.operations} operations): {region.reason}"
        yield from (f"    {note}" for note in self.notes)


@dataclass
class CompileReport:
    """Specialisations of a model, and the calls that PyTorch ran."""

    specialisations: list[Specialisation]
    eager: dict[str, int]
    """Number of calls that PyTorch ran, by reason."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the report as plain data, for JSON."""
        return {
            "schema_version": 1,
            "specialisations": [known.as_dict() for known in self.specialisations],
            "eager": dict(self.eager),
        }

    def __repr__(self) -> str:
        lines = [line for known in self.specialisations for line in known.lines()]
        lines += [f"{count} call{'s' if count > 1 else ''} run by PyTorch: {why}" for why, count in self.eager.items()]
        return "\n".join(lines) or "no call yet"


def described(tensor: torch.Tensor) -> str:
    """Returns the type of an input as text, e.g. `float32[2, 3] cpu`."""
    sizes = ", ".join(map(str, tensor.shape))
    return f"{str(tensor.dtype).removeprefix('torch.')}[{sizes}] {tensor.device}"
