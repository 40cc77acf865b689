"""Match patterns with functions, for the language's matcher and for the import hook."""

from __future__ import annotations

import functools
import os
import re
import sys

from clew.records.plan.plan import Rule, Target

INSTALLED_PARTS = frozenset(
    {"site-packages", "dist-packages", "node_modules", ".venv", "venv", ".tox", ".nox", "__pypackages__"}
)


@functools.lru_cache(maxsize=4096)
def pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob: `*` matches within one dotted part, `**` any number of parts, `?` one character; `<locals>` is
    removed from names."""
    out = []
    for token in re.split(r"(\*\*|\*|\?)", glob):
        out.append({"**": ".*", "*": r"[^.]*", "?": r"[^.]"}.get(token) or re.escape(token))
    return re.compile("".join(out) + r"\Z")


@functools.lru_cache(maxsize=4096)
def module_pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob of modules, where `app.**` matches `app` and everything below it, for a package or a single file."""
    if not glob.endswith(".**"):
        return pattern(glob)
    return re.compile(pattern(glob.removesuffix(".**")).pattern.removesuffix(r"\Z") + r"(?:\..*)?\Z")


def is_wide(glob: str) -> bool:
    """Return whether a glob can match more than one name."""
    return "*" in glob or "?" in glob


def may_wrap(rule: Rule) -> bool:
    """Return whether a rule can match functions written in C; filters require properties that these lack."""
    return not rule.target.root and not is_wide(rule.target.module) and not has_filters(rule)


def plain_qualname(qualname: str) -> str:
    """Return a qualified name without its `<locals>` parts: patterns name `outer.<locals>.inner` as `outer.inner`."""
    return qualname.replace(".<locals>", "")


@functools.lru_cache(maxsize=4096)
def is_project_file(file: str, root: str) -> bool:
    """Return whether `file` is below `root` and not part of an installed package, a virtual environment or the standard
    library."""
    path, base = _real_file(file), _real(root)
    if not path.startswith(base.rstrip(os.sep) + os.sep):
        return False
    if path.startswith(_standard_library() + os.sep):
        return False
    below = path[len(base) :].split(os.sep)
    if not INSTALLED_PARTS.isdisjoint(below):
        return False
    # A virtual environment of any name below the root.
    folder = os.path.dirname(path)
    while len(folder) > len(base):
        if _is_environment(folder):
            return False
        folder = os.path.dirname(folder)
    prefix = _real(sys.prefix)
    return not (sys.prefix != sys.base_prefix and path.startswith(prefix + os.sep) and base != prefix)


def _real_file(file: str) -> str:
    """Resolve a file.

    The files of a folder share their path except the name, so resolving each would cost as much again.
    """
    if os.path.islink(file):
        return os.path.realpath(file)
    folder, name = os.path.split(file)
    return os.path.join(_real(folder), name)


@functools.lru_cache(maxsize=4096)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


@functools.cache
def _standard_library() -> str:
    return os.path.realpath(os.path.dirname(os.__file__))


@functools.lru_cache(maxsize=4096)
def _is_environment(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def matches_module(target: Target, module: str, file: str) -> bool:
    return bool(module_pattern(target.module).match(module)) and (not target.root or is_project_file(file, target.root))


def matches(target: Target, module: str, qualname: str, file: str) -> bool:
    """Match a target; `file` is an absolute path, used only for a target with a root."""
    return matches_module(target, module, file) and bool(pattern(target.qualname).match(plain_qualname(qualname)))


def rule_matches(rule: Rule, module: str, qualname: str, file: str) -> bool:
    """Match a rule without filters (see `clew.source.rule_filters`)."""
    return matches(rule.target, module, qualname, file) and not any(
        matches(target, module, qualname, file) for target in rule.excepts
    )


def has_filters(rule: Rule) -> bool:
    """Return whether a rule has filters, so that names alone do not decide."""
    return any(target.is_async or target.decorators or target.classes for target in (rule.target, *rule.excepts))
