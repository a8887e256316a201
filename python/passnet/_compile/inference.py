"""Builds a captured call without gradients, with or without autocast."""

from __future__ import annotations

from collections.abc import Sequence

from passnet._backend.cache import Store
from passnet._backend.modes import autocast_devices
from passnet._backend.process_lock import compiling
from passnet._compile.autocast import disabled, run_without, write_casts
from passnet._compile.build import Built, build
from passnet._compile.capture import Captured
from passnet._compile.graphs import Pool
from passnet._compile.options import Options
from passnet._passes.load import Pass


def build_inference(
    captured: Captured, known: Sequence[Pass], options: Options, store: Store, pool: Pool | None
) -> Built:
    """Builds a call as `build` does. Under autocast, the casts are first written into the graph, which then runs without autocast.

    Raises `ImplicitCastError` if the casts cannot be written into the graph.
    """
    with compiling:
        return _build(captured, known, options, store, pool)


def _build(captured: Captured, known: Sequence[Pass], options: Options, store: Store, pool: Pool | None) -> Built:
    if not autocast_devices():
        return build(captured, known, options, store, pool)
    weights = write_casts(captured)
    with disabled():
        built = build(captured, known, options, store, pool)
    # Each use of autocast writes the casts again. Aliases of their weights count the writes to the weights.
    weight_of = dict(zip(map(id, weights.casts), weights.weights, strict=True))
    captured.frozen = [weight_of.get(id(tensor), tensor) for tensor in captured.frozen]
    built.run = run_without(built.run, weights)
    built.report.notes.append("the casts of autocast are written into the graph")
    return built
