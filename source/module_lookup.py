"""Find modules by name on the import path, and parse their declarations. Invariant: nothing is imported, and only
folders are searched, without other finders."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator

from clew.source.class_hierarchy import loaded_object
from clew.source.declarations import Declared, Names, declared, parse


def names_in(module: str) -> Names | None:
    """Return the names declared in the module's source; None when it has no readable source."""
    file = source_file(module)
    found = declared_in(file, module) if file else None
    return found.names if found else None


@functools.lru_cache(maxsize=1024)
def declared_in(file: str, module: str) -> Declared | None:
    """Return the declarations of a file, cached since the first request; None if it cannot be read."""
    try:
        with open(file, "rb") as opened:
            source = opened.read()
        return declared(source, parse(source, file), module, os.path.basename(file).startswith("__init__."))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def source_file(module: str) -> str:
    """Return the source file of a module, or "" when no folder of the import path has it."""
    folders: Iterable[str] = sys.path
    parts = module.split(".")
    for number, part in enumerate(parts, 1):
        found = next(_in_folders(part, _path_of(".".join(parts[: number - 1])) or folders), "")
        if number == len(parts):
            return found
        if os.path.basename(found) == "__init__.py":
            folders = [os.path.dirname(found)]
        else:  # a namespace package
            folders = [os.path.join(folder, part) for folder in folders]
    return ""


def _in_folders(name: str, folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for file in (os.path.join(folder, name, "__init__.py"), os.path.join(folder, name + ".py")):
            if os.path.isfile(file):
                yield file


def _path_of(package: str) -> list[str]:
    """Return the search path of an imported package."""
    path = loaded_object(f"{package}.__path__", sys.modules) if package else None
    return [folder for folder in path if type(folder) is str] if type(path) is list else []
