"""Checks of the installation: the version, the parts in C, the panel, the libraries, the packs."""

from __future__ import annotations

import importlib
import importlib.metadata
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.cli.diagnosis.finding import Finding, Status
from clew.cli.diagnosis.machine import shortened
from clew.instrument.adapters import UNFOLLOWED
from clew.records import extensions

LIBRARIES = (
    "wrapt",
    "lark",
    "numpy",
    "pyarrow",
    "duckdb",
    "scipy",
    "pygls",
    "lsprotocol",
    "click",
    "rich",
    "websockets",
)
PANEL_FILES = ("index.html", "main.js", "main.css", "report.js", "layout.js")
OPTIONAL = ("ray", "opentelemetry-proto", "opentelemetry-api", "pytest")
_NO_COMPILER = (
    "install clew from a wheel, or install a C compiler (Debian: apt-get install gcc python3-dev) and reinstall"
)
_NO_PANEL = "install clew from a wheel, or install Node.js 20 or later and reinstall (in a checkout: make panel)"


def version() -> Iterator[Finding]:
    import clew

    yield Finding("clew", clew.__version__)
    yield Finding("installed in", shortened(str(Path(clew.__file__).parent)))
    if shutil.which("clew") is None:
        yield Finding("command", "`clew` is not on PATH", "note", "use `python -m clew`, or activate the environment")


def c_core() -> Iterator[Finding]:
    parts: tuple[tuple[str, tuple[str, ...], Status], ...] = (
        ("C recorder", extensions.RECORDING, "problem"),
        ("C kernels", extensions.ANALYSIS, "note"),
    )
    for name, modules, status in parts:
        missing = [f"{module.rpartition('.')[2]} ({why})" for module in modules if (why := _import_problem(module))]
        if missing:
            yield Finding(name, f"missing: {', '.join(missing)}", status, _NO_COMPILER)
        else:
            yield Finding(name, "built for this interpreter")


def panel() -> Iterator[Finding]:
    static = files("clew.server").joinpath("static")
    missing = [name for name in PANEL_FILES if not static.joinpath(name).is_file()]
    if missing:
        yield Finding("panel", f"missing: {', '.join(missing)}", "note", _NO_PANEL)
    else:
        yield Finding("panel", "built")


def libraries() -> Iterator[Finding]:
    for name in LIBRARIES:
        found = _version_of(name)
        yield Finding(name, found or "not installed", "ok" if found else "note", "" if found else f"pip install {name}")
    for name in OPTIONAL:
        if found := _version_of(name):
            yield Finding(name, found)


def event_loops() -> Iterator[Finding]:
    """Name the installed event loops, and whether their tasks are followed."""
    yield Finding("asyncio", "followed")
    if found := _version_of("sqlalchemy"):
        yield Finding("sqlalchemy", f"{found}, its greenlets on asyncio are followed")
    for name, what in UNFOLLOWED.items():
        if found := _version_of(name):
            yield Finding(name, f"{found}, its {what} are not followed: answers stop where it runs", "note")


def followed(workspace: Path) -> list[dict[str, Any]]:
    """Return each pack with its libraries' versions, and which spec follows it: the default one, or specs of the workspace."""
    from clew.cli.commands.spec.packs import pack_row
    from clew.esl.packs.registry import adapter_of, known
    from clew.records.plan.default_plan import ADAPTERS

    included = _included(workspace)
    rows = []
    for row in map(pack_row, known()):
        by = ["the default"] if adapter_of(row["name"]) in ADAPTERS else []
        by += [spec for spec, packs in included.items() if row["name"] in packs]
        there = not row["modules"] or bool(row["installed"])
        rows.append(
            {
                "name": row["name"],
                "modules": row["modules"],
                "installed": row["installed"],
                "available": there,
                "followedBy": by,
            }
        )
    return rows


def _included(workspace: Path) -> dict[str, set[str]]:
    """Return the packs that each spec in the workspace's folder includes, directly or through other packs."""
    from clew.esl.packs.registry import shipped
    from clew.esl.syntax.ast import Include
    from clew.esl.syntax.parser import parse

    def names(text: str, seen: set[str]) -> set[str]:
        for statement in parse(text).tree.statements:
            for pack in statement.packs if isinstance(statement, Include) else ():
                if pack.text not in seen:
                    seen.add(pack.text)
                    names(shipped().get(pack.text, ""), seen)
        return seen

    return {
        path.name: names(path.read_text(encoding="utf-8", errors="replace"), set())
        for path in sorted(workspace.glob("*.esl"))
    }


def _import_problem(module: str) -> str:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return (
            "not built" if isinstance(error, ModuleNotFoundError) or "cannot import name" in str(error) else str(error)
        )
    return ""


def _version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""
