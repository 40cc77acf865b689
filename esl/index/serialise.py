"""Serialize the index entry of a file, for the cache and between processes. Invariant: `contents(packed(x)) == x`, and
the serialized form is one line of ASCII."""

from __future__ import annotations

import gc
import json
from typing import Any

from clew.esl.index.declarations import ClassInfo, Contents, FunctionInfo
from clew.source.declarations import Base, Names

VERSION = 1
"""Version of the serialized data and of the parser; entries of other versions are rebuilt."""


def packed(contents: Contents) -> bytes:
    """Serialize contents without the names of module and file, which all functions of a file share."""
    names = contents.names
    plain = [
        [each[2:] for each in contents.functions],
        [each[2:] for each in contents.classes],
        [names.classes, names.bound, names.stars, names.dynamic],
        sorted(contents.channels),
        contents.note,
    ]
    return json.dumps(plain, separators=(",", ":")).encode("ascii")


def contents(data: bytes, module: str, file: str) -> Contents:
    """Deserialize contents. Raises ValueError, TypeError, KeyError or AttributeError for data that `packed` did not
    write."""
    # None of these objects is garbage; a collection would take twice as long as creating them.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _contents(json.loads(data), module, file)
    finally:
        if collects:
            gc.enable()


def _contents(plain: Any, module: str, file: str) -> Contents:
    functions, classes, (bases, bound, stars, dynamic), channels, note = plain
    return Contents(
        tuple(_function(module, file, each) for each in functions),
        tuple(
            ClassInfo(module, file, qualname, line, end, tuple(parents), tuple(decorators), tuple(generated))
            for qualname, line, end, parents, decorators, generated in classes
        ),
        Names(
            {
                name: tuple(tuple(Base(text, tuple(named)) for text, named in each) for each in definitions)
                for name, definitions in bases.items()
            },
            {name: tuple(meanings) for name, meanings in bound.items()},
            tuple(stars),
            dynamic,
        ),
        frozenset(channels),
        note,
    )


def _function(module: str, file: str, each: list[Any]) -> FunctionInfo:
    qualname, line, first, end, kind, parameters, types, decorators, in_class, names, class_name, doubt = each
    return FunctionInfo(
        module, file, qualname, line, first, end, kind, tuple(parameters), tuple(types), tuple(decorators), in_class,
        tuple(map(tuple, names)), class_name, doubt,
    )  # fmt: skip
