"""The report of `passnet optimize` as a page of one file."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .2rem .8rem; text-align: left; border-bottom: 1px solid #ddd }
td.n { text-align: right; font-variant-numeric: tabular-nums } .lost { color: #a33 }
"""


def report(result: dict[str, Any]) -> str:
    """The page for what `passnet optimize` prints as JSON."""
    parts = [f"<h1>{_text(result['model'])}</h1><p>{_text(result['device'])}, {result['threads']} threads</p>"]
    parts.append(_whole(result["median_ns"], result["failures"]))
    for known in result["compiled"]["specialisations"]:
        parts.append(_specialisation(known))
    for reason, count in result["compiled"]["eager"].items():
        parts.append(f"<p>{count} calls run by PyTorch: {_text(reason)}</p>")
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><title>{_text(result["model"])}</title><style>{_STYLE}</style>'
    return f"<!doctype html>\n<html lang=en><head>{head}</head>\n<body>{body}</body></html>\n"


def _whole(times: dict[str, float], failures: dict[str, str]) -> str:
    rows = [(name, _us(value), f"{times['eager'] / value:.2f}") for name, value in times.items()]
    rows += [(name, "failed", reason) for name, reason in failures.items()]
    return _table(("", "microseconds", "times as fast as eager"), rows)


def _specialisation(known: dict[str, Any]) -> str:
    inputs = ", ".join(known["inputs"])
    rows = [
        (
            region["rule"],
            str(region["operations"]),
            _us(region["eager_ns"]),
            _us(region["fused_ns"]),
            "kept" if region["kept"] else f"left to PyTorch: {region['reason']}",
        )
        for region in sorted(known["regions"], key=_gain)
    ]
    notes = "".join(f"<li>{_text(note)}</li>" for note in known["notes"])
    title = f"<h2>{_text(inputs)}</h2><p>{known['operations']} operations, compiled in {known['compile_s']:.2f} s. "
    title += f"CUDA graph: {_text(known['cuda_graph'])}.</p><ul>{notes}</ul>"
    return title + _table(("region", "operations", "PyTorch, us", "fused, us", ""), rows)


def _gain(region: dict[str, Any]) -> float:
    """Largest gain first; what was not measured comes last."""
    if region["eager_ns"] is None or region["fused_ns"] is None:
        return float("inf")
    return region["fused_ns"] - region["eager_ns"]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heading = "".join(f"<th>{_text(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{heading}</tr>{lines}</table>"


def _us(nanoseconds: float | None) -> str:
    return "" if nanoseconds is None else f"{nanoseconds / 1e3:.1f}"


def _text(value: Any) -> str:
    return html.escape(str(value))
