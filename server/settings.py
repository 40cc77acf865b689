"""What the user set in their editor, under `clew`, as typed values.

Invariant: whatever an editor sends, each setting has a value of its type; what was sent wrongly is named and its default used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

SECTION = "clew"


@dataclass(frozen=True)
class Settings:
    code_lens: bool = True
    """`clew.codeLens.enabled`: calls and times above each recorded function."""
    baseline: str = ""
    """`clew.baseline`: the run that others are compared with where none was chosen; "" for none."""
    compare_code_lens: bool = True
    """`clew.compare.codeLens`: what changed since the baseline above the functions that are responsible."""
    compare_diagnostics: bool = True
    """`clew.compare.diagnostics`: the same as diagnostics."""


_PATHS = {
    "code_lens": ("codeLens", "enabled"),
    "baseline": ("baseline",),
    "compare_code_lens": ("compare", "codeLens"),
    "compare_diagnostics": ("compare", "diagnostics"),
}


def read(data: object) -> tuple[Settings, list[str]]:
    """The settings of an editor's JSON, and a sentence for each that is not of its type."""
    values: dict[str, object] = {}
    problems = []
    for field in fields(Settings):
        value = _at(data, _PATHS[field.name])
        if value is None:
            continue
        if isinstance(value, type(field.default)):
            values[field.name] = value.strip() if isinstance(value, str) else value
        else:
            name = ".".join((SECTION, *_PATHS[field.name]))
            needed = "true or false" if isinstance(field.default, bool) else "a text"
            problems.append(f"the setting {name} is {value!r}, where {needed} is needed; its default is used")
    return Settings(**values), problems  # type: ignore[arg-type]  # each was checked against its field


def _at(data: object, path: tuple[str, ...]) -> object:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data
