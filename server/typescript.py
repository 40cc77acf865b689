"""Writes the TypeScript twin of `protocol/`: `python -m clew.server.typescript`; `--check` exits 1 when it is stale.

Invariant: the output is a function of that package alone (types, docstrings, order of definition), so a stale twin is a
failing check and never a matter of taste.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import sys
import types
import typing
from pathlib import Path

from clew.server import protocol

OUTPUT = Path(__file__).resolve().parent.parent / "vscode-client" / "src" / "shared" / "protocol.ts"
MODULES = tuple(
    importlib.import_module(f"{protocol.__name__}.{module.name}") for module in pkgutil.iter_modules(protocol.__path__)
)
"""Their types are written in the order of the modules' names."""
CONSTANTS = ("PROTOCOL_VERSION", "RUNS_CHANGED", "RUN_GREW", "COMMANDS")
UNIONS = ("HostMessage", "PanelMessage")
SENT_BY_CLIENT = (protocol.ClientOptions, protocol.OpenMessage, protocol.CursorMessage, protocol.RevealMessage)
SCALARS = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def generate() -> str:
    """The whole text of `protocol.ts`."""
    documents = _documents()
    optional = _reachable([params for params, _ in protocol.METHODS.values()] + list(SENT_BY_CLIENT))
    parts = [
        "// Generated from server/protocol/ by `python -m clew.server.typescript`; edit those files instead.\n",
        _comment(inspect.getdoc(protocol) or "", ""),
    ]
    for name in CONSTANTS:
        parts.append(
            _comment(documents.get(name, ""), "") + f"export const {name} = {_literal(getattr(protocol, name))};\n"
        )
    for cls in _dataclasses():
        parts.append(_interface(cls, documents, with_defaults=cls in optional))
    for name in UNIONS:
        parts.append(f"export type {name} = {_type(getattr(protocol, name))};\n")
    parts.append(_methods(documents))
    return "\n".join(parts)


def _methods(documents: dict[str, str]) -> str:
    rows = "".join(
        f'  "{name}": {{ params: {params.__name__}; result: {result.__name__} }};\n'
        for name, (params, result) in protocol.METHODS.items()
    )
    names = "".join(f'  "{name}",\n' for name in protocol.METHODS)
    return (
        f"{_comment(documents.get('METHODS', ''), '')}export interface Methods {{\n{rows}}}\n\n"
        "export type Method = keyof Methods;\n\n"
        f"export const METHODS: readonly Method[] = [\n{names}];\n"
    )


def _interface(cls: type, documents: dict[str, str], *, with_defaults: bool) -> str:
    hints = typing.get_type_hints(cls)
    lines = []
    for field in dataclasses.fields(cls):
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        mark = "?" if with_defaults and has_default else ""
        lines.append(
            _comment(documents.get(f"{cls.__name__}.{field.name}", ""), "  ")
            + f"  {field.name}{mark}: {_type(hints[field.name])};\n"
        )
    # An empty interface would accept anything at all.
    body = (
        f"export interface {cls.__name__} {{\n{''.join(lines)}}}\n"
        if lines
        else f"export type {cls.__name__} = Record<string, never>;\n"
    )
    return _comment(documents.get(cls.__name__, ""), "") + body


def _type(hint: object) -> str:
    if hint is typing.Any:
        return "unknown"
    if isinstance(hint, type) and hint in SCALARS:
        return SCALARS[hint]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint.__name__
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(_literal(value) for value in arguments)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(argument) for argument in arguments)
    if origin is list:
        inner = _type(arguments[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    raise TypeError(f"the protocol uses {hint!r}, for which there is no TypeScript here; add it to _type")


def _literal(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return f"[{', '.join(_literal(item) for item in value)}] as const"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reachable(roots: list[type]) -> set[type]:
    """The dataclasses that `roots` contain, themselves included."""
    found: set[type] = set()
    pending: list[object] = list(roots)
    while pending:
        hint = pending.pop()
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if hint not in found:
                found.add(hint)
                pending.extend(typing.get_type_hints(hint).values())
        else:
            pending.extend(typing.get_args(hint))
    return found


def _dataclasses() -> list[type]:
    return [
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    ]


def _documents() -> dict[str, str]:
    """Docstrings by name: `Class`, `Class.field`, `CONSTANT`. A string right after a definition documents it."""
    found: dict[str, str] = {}

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node, following in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.ClassDef):
                text = ast.get_docstring(node)
                if text:
                    found[node.name] = text
                collect(node.body, f"{node.name}.")
                continue
            target = (
                node.target
                if isinstance(node, ast.AnnAssign)
                else node.targets[0]
                if isinstance(node, ast.Assign)
                else None
            )
            if (
                isinstance(target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
                and isinstance(following.value.value, str)
            ):
                found[prefix + target.id] = inspect.cleandoc(following.value.value)

    for module in (protocol, *MODULES):
        collect(ast.parse(inspect.getsource(module)).body, "")
    return found


def _comment(text: str, indent: str) -> str:
    if not text:
        return ""
    lines = text.replace("*/", "*\\/").splitlines()
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/**\n" + "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines) + f"{indent} */\n"


def main(arguments: list[str]) -> int:
    text = generate()
    if arguments == ["--check"]:
        if OUTPUT.is_file() and OUTPUT.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write(f"clew: {OUTPUT} is stale; run `python -m clew.server.typescript`\n")
        return 1
    if arguments:
        sys.stderr.write("clew: usage: python -m clew.server.typescript [--check]\n")
        return 2
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
