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


def report(result: dict[str, Any]) -> str:
    """Returns the page for a result that `passnet optimize` prints as JSON."""
    title = _text(result["model"])
    parts = [f"<section><h2>Whole model</h2>{_whole(result['median_ns'], result['failures'])}</section>"]
    for known in result["compiled"]["specialisations"]:
        parts.append(_specialisation(known))
    for reason, count in result["compiled"]["eager"].items():
        parts.append(f"<p>{count} {'call' if count == 1 else 'calls'} run by PyTorch: {_text(reason)}</p>")
    threads = f"{result['threads']} {'thread' if result['threads'] == 1 else 'threads'}"
    lead = f'<div class="bar"><span class="brand">PassNet</span></div><h1>{title}</h1><p>{_text(result["device"])}, {threads}</p>'
    head = f"{_HEAD}\n<title>{title}</title><style>{_STYLE}</style>"
    body = f"<header>{lead}</header>\n<main>{chr(10).join(parts)}</main>"
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
            f"{region['operations']} operations, "
            + ("kept" if region["kept"] else f"left to PyTorch: {region['reason']}"),
        )
        for region in sorted(known["regions"], key=_gain)
    ]
    notes = "".join(f"<li>{_text(note)}</li>" for note in known["notes"])
    notes = f"<ul>{notes}</ul>" if notes else ""
    title = f"<h2>{_text(inputs)}</h2><p>{known['operations']} operations, compiled in {known['compile_s']:.2f} s. "
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


def _text(value: Any) -> str:
    return html.escape(str(value))
