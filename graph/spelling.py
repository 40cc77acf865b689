"""Query plans as text: as they would be written, and step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clew.graph.event import LEVEL_NAMES
from clew.graph.fields import OF_TEXT
from clew.graph.nodes import (
    Aggregate,
    Beside,
    Chosen,
    Columns,
    Compare,
    Cut,
    Events,
    Gaps,
    Grouped,
    Kinds,
    Limit,
    Machines,
    Node,
    OrderBy,
    PathNode,
    Requests,
    Strands,
    Where,
)


def spell(node: Node) -> str:
    """The plan as it would be written."""
    match node:
        case Events():
            return f"{node.run!r}.events"
        case Gaps() | Machines():
            return f"{node.run!r}.{type(node).__name__.lower()}"
        case Strands():
            return f"{node.run!r}.strands" + (f".named({node.name!r})" if node.name else "")
        case Chosen():
            return f"{node.run!r}.slice({', '.join(map(str, node.events))})"
        case Cut(source=Chosen(run=run, events=events)):
            return f"{run!r}.slice({', '.join(map(str, events))}, direction={_options(node)})"
        case Requests():
            return f"{node.run!r}.requests" + (f".named({node.name!r})" if node.name is not None else "")
        case Compare():
            return f"{spell(node.before)}.diff({spell(node.after)})"
        case Aggregate(source=Events(run=run)):
            return f"{run!r}.{_step(node)}"
        case _:
            return f"{spell(node.source)}.{_step(node)}"


def explain(node: Node, indent: str = "", *, tell: Callable[[Node], str] | None = None) -> str:
    """A step per line, the last one first, what it works on below it; behind each what `tell` says of it."""
    told = f"  ({tell(node)})" if tell else ""
    match node:
        case Events() | Requests() | Gaps() | Machines() | Strands() | Chosen() | Cut(source=Chosen()):
            return f"{indent}{spell(node)}{told}"
        case Compare():
            below = [explain(side, indent + "   ", tell=tell) for side in (node.before, node.after)]
            return "\n".join([f"{indent}diff{told}", *below])
        case _:
            return f"{indent}{_step(node)}{told}\n{explain(node.source, indent + '   ', tell=tell)}"


def _step(node: Node) -> str:
    match node:
        case Where():
            return f"where({', '.join(_condition(*condition) for condition in node.conditions)})"
        case OrderBy():
            return f"order_by({('-' if node.descending else '') + node.field!r})"
        case Limit():
            return f"limit({node.count})"
        case Cut():
            return f"slice({_options(node)})"
        case Columns():
            return f"select({', '.join(map(repr, node.names))})"
        case Grouped():
            return _grouped(node)
        case Beside():
            return "neighbours()"
        case Kinds():
            return f"categories({_name(node.level)})"
        case Aggregate():
            return f"aggregate({_name(node.level)}{', reduce=' + _name(node.reduce) if node.reduce else ''})"
        case PathNode():
            return f"critical_path({_name(node.level)})"
        case _:
            return type(node).__name__.lower()


def _grouped(node: Grouped) -> str:
    measures = ", ".join(
        f"{name}={measure[0]!r}" if len(measure) == 1 else f"{name}={measure!r}" for name, measure in node.measures
    )
    by = f"group_by({', '.join(map(repr, node.by))})." if node.by else ""
    order = "".join(f".order_by({('-' if down else '') + name!r})" for name, down in reversed(node.order))
    return f"{by}agg({measures}){order}{'' if node.count is None else f'.limit({node.count})'}"


def _options(node: Cut) -> str:
    options = [repr(node.direction)]
    for name in ("max_hops", "max_network_hops"):
        if getattr(node, name) is not None:
            options.append(f"{name}={getattr(node, name)}")
    if node.edge_kinds is not None:
        options.append(f"edge_kinds={node.edge_kinds!r}")
    if node.edge_filter is not None:
        options.append("edge_filter=…")
    if node.until is not None:
        options.append(f"until={_name(node.until) if callable(node.until) else spell(node.until)}")
    return ", ".join(options)


def _condition(field: str, comparison: str, value: Any) -> str:
    if comparison == "call":
        return _name(value)
    if field == "level" and comparison not in OF_TEXT:
        value = tuple(map(_level, value)) if comparison == "in" else _level(value)
    return f"{field}{'' if comparison == 'eq' else '__' + comparison}={value!r}"


def _level(number: int) -> str | int:
    return LEVEL_NAMES.get(number, number)


def _name(value: Any) -> str:
    return getattr(value, "__name__", "…") if callable(value) else repr(value)
