"""The report of `passnet optimize` as a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# The style sheet that all pages of PassNet share: the leaderboard, reports and the state of a fleet.
_STYLE = (Path(__file__).parents[1] / "style.css").read_text(encoding="utf-8")
_HEAD = """<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""

# The mark of all pages, as `crates/passnet-web/src/shell.rs` has it.
_MARK = (
    '<svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><path d="M7 6v6l9 5m9-11v6l-9 5m0-11v20" fill="none" '
    'stroke="currentColor" stroke-width="2.5"/><g fill="currentColor"><circle cx="7" cy="6" r="3.5"/><circle cx="16" cy="6" r="3.5"/>'
    '<circle cx="25" cy="6" r="3.5"/><rect x="10" y="20" width="12" height="8" rx="2.5"/></g></svg>'
)
_FOOTER = "<footer><p>Written by PassNet. Ratios are eager / candidate: more than 1 is faster.</p></footer>"


def report(result: dict[str, Any]) -> str:
    """Returns the page for a result that `passnet optimize` prints as JSON."""
    title = _text(result["model"])
    parts = [f"<section><h2>Whole model</h2>{_whole(result['median_ns'], result['failures'])}</section>"]
    for known in result["compiled"]["specialisations"]:
        parts.append(_specialisation(known))
    for reason, count in result["compiled"]["eager"].items():
        parts.append(f"<p>{_counted(count, 'call')} run by PyTorch: {_text(reason)}</p>")
    bar = f'<div class="bar"><span class="brand">{_MARK}PassNet</span></div>'
    lead = f"{bar}<h1>{title}</h1><p>{_text(result['device'])}, {_counted(result['threads'], 'thread')}</p>"
    head = f"{_HEAD}\n<title>{title}</title><style>{_STYLE}</style>"
    body = f"<header>{lead}</header>\n<main>{chr(10).join(parts)}</main>\n{_FOOTER}"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _whole(times: dict[str, float], failures: dict[str, str]) -> str:
    rows = [(name, _us(value), f"{times['eager'] / value:.2f}", "") for name, value in times.items()]
    rows += [(name, "failed", "", reason) for name, reason in failures.items()]
    return _table("Times of the whole model", ("Side", "Time, µs", "Speed-up", ""), rows)


def _specialisation(known: dict[str, Any]) -> str:
    inputs = ", ".join(known["inputs"])
    rows = [
        (
            region["rule"],
            _us(region["eager_ns"]),
            _us(region["fused_ns"]),
            f"{_counted(region['operations'], 'operation')}, "
            + ("kept" if region["kept"] else f"left to PyTorch: {region['reason']}"),
        )
        for region in sorted(known["regions"], key=_gain)
    ]
    notes = "".join(f"<li>{_text(note)}</li>" for note in known["notes"])
    notes = f"<ul>{notes}</ul>" if notes else ""
    title = f"<h2>{_text(inputs)}</h2><p>{_counted(known['operations'], 'operation')}, compiled in {known['compile_s']:.2f} s. "
    title += f"CUDA graph: {_text(known['cuda_graph'])}.</p>{notes}"
    heads = ("Region", "PyTorch, µs", "Fused, µs", "")
    return f"<section>{title}{_table('Regions', heads, rows)}</section>"


def _gain(region: dict[str, Any]) -> float:
    """Returns the sort key of a region: the largest gain first, regions without measurement last."""
    if region["eager_ns"] is None or region["fused_ns"] is None:
        return float("inf")
    return region["fused_ns"] - region["eager_ns"]


def _table(name: str, head: Iterable[str], rows: Iterable[tuple[str, str, str, str]]) -> str:
    """Returns a table whose second and third columns are numbers."""
    label, first, second, note = head
    heading = f'<th scope="col">{_text(label)}</th>'
    heading += "".join(f'<th scope="col" class="number">{_text(title)}</th>' for title in (first, second))
    heading += f'<th scope="col">{_text(note)}</th>'
    lines = "".join(
        f'<tr><th scope="row">{_text(label)}</th><td class="number">{_text(first)}</td><td class="number">{_text(second)}</td>'
        f"<td>{_text(note)}</td></tr>"
        for label, first, second, note in rows
    )
    table = f"<table><thead><tr>{heading}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="scroll" role="region" aria-label="{_text(name)}" tabindex="0">{table}</div>'


def _us(nanoseconds: float | None) -> str:
    return "" if nanoseconds is None else f"{nanoseconds / 1e3:.1f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _text(value: Any) -> str:
    return html.escape(str(value))
