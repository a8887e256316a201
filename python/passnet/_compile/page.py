"""The report of `passnet optimize` as a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
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
# Operations with a smaller share of the time are one row together.
_SMALL = 0.005
_FOOTER = "<footer><p>Written by PassNet. Ratios are eager / candidate: more than 1 is faster.</p></footer>"


def report(result: dict[str, Any]) -> str:
    """Returns the page for a result that `passnet optimize` prints as JSON."""
    title = _text(result["model"])
    parts = [f"<section><h2>Whole model</h2>{_whole(result)}</section>"]
    if "authored" in result:
        parts.append(_authored(result["authored"]))
    for known in result["compiled"]["specialisations"]:
        parts.append(_specialisation(known))
    for reason, count in result["compiled"]["eager"].items():
        parts.append(f"<p>{_counted(count, 'call')} run by PyTorch: {_text(reason)}</p>")
    bar = f'<div class="bar"><span class="brand">{_MARK}PassNet</span></div>'
    lead = f"{bar}<h1>{title}</h1><p>{_text(result['device'])}, {_counted(result['threads'], 'thread')}</p>"
    head = f"{_HEAD}\n<title>{title}</title><style>{_STYLE}</style>"
    body = f"<header>{lead}</header>\n<main>{chr(10).join(parts)}</main>\n{_FOOTER}"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _whole(result: dict[str, Any]) -> str:
    times, peaks = result["median_ns"], result["peak_bytes"]

    def row(name: str, value: float) -> tuple[str, ...]:
        seconds = "" if name == "eager" else f"{result['compile_s'][name]:.1f}"
        memory = (f"{peaks[name] / 2**20:.1f}",) if name in peaks else ()
        return name, _us(value), f"{times['eager'] / value:.2f}", seconds, *memory, ""

    rows = [row(name, value) for name, value in times.items()]
    columns = ("Time, µs", "Speed-up", "Compilation, s", *(("Memory, MiB",) if peaks else ()))
    rows += [(name, "failed", *[""] * (len(columns) - 1), reason) for name, reason in result["failures"].items()]
    return _table("Times of the whole model", ("Side", *columns, ""), rows)


def _authored(authored: dict[str, Any]) -> str:
    """Returns the section about the work of a language model."""
    rows = [
        (
            task["id"],
            str(task["places"]),
            _us(task["eager_ns"]),
            f"{100 * task['share']:.1f}",
            f"{task['fuse']:.2f}",
            "" if task["score"] is None else f"{task['score']:.2f}",
            str(task["attempts"]),
            str(task["tokens"]),
            _us(task["gain_ns"]) if task["kept"] else "",
            task["outcome"],
        )
        for task in authored["tasks"]
    ]
    heads = (
        "Part",
        "Places",
        "PyTorch, µs",
        "Share, %",
        "Speed-up of fuse",
        "Speed-up of the model",
        "Attempts",
        "Tokens",
    )
    cost = "" if authored["cost_usd"] is None else f", ${authored['cost_usd']:.2f}"
    text = f"{_counted(authored['attempts'], 'attempt')}, {authored['input_tokens']} input tokens and "
    text += f"{authored['output_tokens']} output tokens{cost}. Trajectories: {authored['directory']}."
    if authored["stopped"] is not None:
        text += f" Ended early: {authored['stopped']}."
    notes = "".join(f"<li>No task: {_text(name)}: {_text(why)}</li>" for name, why in authored["left_out"].items())
    notes = f"<ul>{notes}</ul>" if notes else ""
    table = _table("Parts of the language model", (*heads, "Gain, µs", ""), rows) if rows else ""
    return f"<section><h2>{_text(authored['author'])}</h2><p>{_text(text)}</p>{notes}{table}</section>"


def _specialisation(known: dict[str, Any]) -> str:
    inputs = ", ".join(known["inputs"])
    rows = [
        (
            region["rule"],
            _us(region["eager_ns"]),
            _us(region["fused_ns"]),
            f"{_counted(region['operations'], 'operation')} by {region['author']}, "
            + ("kept" if region["kept"] else f"left to PyTorch: {region['reason']}"),
        )
        for region in sorted(known["regions"], key=_gain)
    ]
    notes = "".join(f"<li>{_text(note)}</li>" for note in known["notes"])
    notes = f"<ul>{notes}</ul>" if notes else ""
    title = f"<h2>{_text(inputs)}</h2><p>{_counted(known['operations'], 'operation')}, compiled in {known['compile_s']:.2f} s. "
    title += f"CUDA graph: {_text(known['cuda_graph'])}.</p>{notes}"
    if known["by_model"] is not None:
        title += f"<p>The model itself runs such calls: {_text(known['by_model'])}.</p>"
    heads = ("Region", "PyTorch, µs", "Fused, µs", "")
    return f"<section>{title}{_table('Regions', heads, rows)}{_rest(known['rest'])}</section>"


def _rest(operations: list[dict[str, Any]] | None) -> str:
    """Returns the table of the operations that no region replaces."""
    if not operations:
        return ""
    rows = [
        (part["name"], str(part["count"]), _us(part["ns"]), f"{100 * part['share']:.1f}", "")
        for part in operations
        if part["share"] >= _SMALL
    ]
    if small := [part for part in operations if part["share"] < _SMALL]:
        count, time, share = (sum(part[key] for part in small) for key in ("count", "ns", "share"))
        rows.append((_counted(len(small), "other operation"), str(count), _us(time), f"{100 * share:.1f}", ""))
    heads = ("Outside regions", "Calls", "Time, µs", "Share, %", "")
    return _table("Operations outside regions", heads, rows)


def _gain(region: dict[str, Any]) -> float:
    """Returns the sort key of a region: the largest gain first, regions without measurement last."""
    if region["eager_ns"] is None or region["fused_ns"] is None:
        return float("inf")
    return region["fused_ns"] - region["eager_ns"]


def _table(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table. The columns between the first and the last are numbers."""
    label, *columns, note = head
    heading = f'<th scope="col">{_text(label)}</th>'
    heading += "".join(f'<th scope="col" class="number">{_text(title)}</th>' for title in columns)
    heading += f'<th scope="col">{_text(note)}</th>'
    lines = ""
    for label, *numbers, note in rows:
        cells = "".join(f'<td class="number">{_text(number)}</td>' for number in numbers)
        lines += f'<tr><th scope="row">{_text(label)}</th>{cells}<td>{_text(note)}</td></tr>'
    table = f"<table><thead><tr>{heading}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="scroll" role="region" aria-label="{_text(name)}" tabindex="0">{table}</div>'


def _us(nanoseconds: float | None) -> str:
    return "" if nanoseconds is None else f"{nanoseconds / 1e3:.1f}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _text(value: Any) -> str:
    return html.escape(str(value))
