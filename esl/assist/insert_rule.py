"""Create statements about a function or class of the program, and find the place to insert them in a spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.esl.index.declarations import ClassInfo, FunctionInfo
from clew.esl.syntax.ast import Act, Entity, Include, Scope, Spec, Statement

NEW = "include standard;\n"
"""First line of a new spec."""
_TELLING = ("id", "key", "uid", "uuid", "token", "name")
"""Names of parameters, or their endings, that identify objects."""


@dataclass(frozen=True)
class Addition:
    """A statement to insert. `title` completes "clew: "."""

    title: str
    keyword: str
    text: str


def for_function(function: FunctionInfo) -> Iterator[Addition]:
    """Yield statements for a function: scope, request, and send or receive by its most likely parameter."""
    label = function.label
    yield Addition("trace this function", "scope", f"scope {label};")
    if "<" in function.name:
        return
    yield Addition("mark this as a request", "request", f"request {label};")
    key = key_of(function)
    if key:
        channel = function.name.rpartition(".")[2].strip("_") or "item"
        yield Addition(f"send here (key {key})", "send", f"send {label} key {key} as {channel};")
        yield Addition(f"receive here (key {key})", "receive", f"receive {label} key {key} as {channel};")


def for_class(owner: ClassInfo, functions: tuple[FunctionInfo, ...]) -> Iterator[Addition]:
    """Yield statements for a class; `functions` are those of its file."""
    lead = owner.qualname + "."
    methods = {
        f.name.removeprefix(lead) for f in functions if f.in_class and f.name.rpartition(".")[0] == owner.qualname
    }
    name = owner.qualname.rpartition(".")[2]
    lines = [f"    when finish {method}() -> {event}(this);" for method, event in _LIFE if method in methods]
    if not methods:
        return
    if not lines:
        first = min((f for f in functions if f.name.removeprefix(lead) in methods), key=lambda f: f.line)
        lines = [f"    when finish {first.name.removeprefix(lead)}() -> position(this);"]
    body = "\n".join(lines)
    yield Addition("declare an entity of this class", "entity", f"entity {name} is {owner.label} {{\n{body}\n}}")
    yield Addition("trace this class", "scope", f"scope {owner.label}.*;")


_LIFE = (("__init__", "position"), ("close", "deletion"), ("stop", "deletion"), ("delete", "deletion"))
"""Methods that start or end the existence of an object."""


def key_of(function: FunctionInfo) -> str:
    """Return the parameter that most likely identifies the object of a call, or ""."""
    names = [name for name in function.parameters if name != function.this]
    telling = [name for name in names if name in _TELLING or name.endswith(tuple(f"_{each}" for each in _TELLING))]
    return (telling or names or [""])[0]


def place_for(addition: Addition, spec: Spec, text: str) -> tuple[int, str]:
    """Return the offset for a new statement (after the last statement of its kind, else at the end) and the text to
    insert."""
    same = [each for each in spec.statements if _keyword(each) == addition.keyword]
    if same and addition.keyword != "entity":
        end = text.find("\n", same[-1].span.end)
        if end >= 0:
            return end, "\n" + addition.text
    lead = "" if not text or text.endswith("\n") else "\n"
    gap = "\n" if text.strip() and not same else ""
    return len(text), f"{lead}{gap}{addition.text}\n"


def has(addition: Addition, text: str) -> bool:
    """Tell whether the spec already contains the statement."""
    return addition.text.partition("{")[0].rstrip(" ;") in text


def _keyword(statement: Statement) -> str:
    match statement:
        case Act():
            return statement.verb.text
        case Scope():
            return "scope"
        case Entity():
            return "entity"
        case Include():
            return "include"
    return ""
