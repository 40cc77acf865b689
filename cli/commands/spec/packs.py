"""`clew packs`: list the packs for `include NAME`, their libraries and their cost. None of the libraries is imported."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output.options import json_option, print_json, show, table

if TYPE_CHECKING:
    from clew.esl.syntax.ast import Spec

_STANDARD = "standard library"


def _beginning(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete names of packs for the shell."""
    from clew.esl.packs.registry import known

    return [name for name in known() if name.startswith(typed)]


@click.command()
@click.argument("name", required=False, shell_complete=_beginning)
@json_option
def packs(name: str | None, as_json: bool) -> None:
    """List the packs: what `include NAME;` adds to a spec, the installed library, and the cost of one operation.

    A pack for a library that is not installed costs nothing. With NAME, the command prints the rules of that pack's
    file.

    \b
    Examples:
      clew packs
      clew packs redis
      clew packs --json | jq -r '.packs[] | select(.installed) | .name'
    """
    from clew.esl.packs.registry import known, shipped
    from clew.esl.syntax.problem import did_you_mean

    if name is not None and name not in known():
        raise click.UsageError(
            f"unknown pack {name!r}{did_you_mean(name, known())[0] or '; run `clew packs` for a list'}"
        )
    rows = [pack_row(each) for each in known() if name in (None, each)]
    if as_json:
        print_json(rows[0] | {"rules": shipped().get(rows[0]["name"], "")} if name else {"packs": rows})
    elif name:
        click.echo(shipped().get(name, f"// {rows[0]['adds']}: an adapter of the recorder.").rstrip("\n"))
        click.echo(f"\n{_library(rows[0])}; {_cost(rows[0]) or 'its cost was not measured'}", err=True)
    else:
        shown = table("pack", "library", "cost", "adds")
        for row in rows:
            shown.add_row(row["name"], _library(row), _cost(row), row["adds"])
        show(shown)


def pack_row(name: str) -> dict[str, Any]:
    """Return the fields of a pack for `--json`."""
    from clew.esl.lower.resolve import parameters_of
    from clew.esl.packs.registry import about, costs

    modules = list(_modules(name))
    versions = {module: version for module in modules if (version := _version(module))}
    return {
        "name": name,
        "adds": about(name),
        "modules": modules,
        "installed": versions,
        "parameters": parameters_of(name),
        "cost": costs().get(name),
    }


def _library(row: dict[str, Any]) -> str:
    if not row["modules"]:
        return _STANDARD
    return ", ".join(f"{each} {row['installed'].get(each, '(not installed)')}" for each in row["modules"])


def _cost(row: dict[str, Any]) -> str:
    cost = row["cost"]
    return f"{cost['operation']}: {cost['us']:g} µs + {cost['added']:g} µs" if cost else ""


def _modules(name: str) -> Iterator[str]:
    """Yield the libraries that a pack's own rules name, without the standard library."""
    from clew.esl.lower.resolve import mean
    from clew.esl.packs.registry import LIBRARY_ADAPTERS, shipped
    from clew.esl.syntax.parser import parse

    if name in LIBRARY_ADAPTERS:
        yield LIBRARY_ADAPTERS[name]
    text = shipped().get(name)
    for module in dict.fromkeys(_tops(mean(parse(text).tree).spec)) if text else ():
        if module.lstrip("_") not in sys.stdlib_module_names:
            yield module


def _tops(spec: Spec) -> Iterator[str]:
    from clew.esl.lower.lower import lower

    for lowered in lower(spec, path="", root="").rules:
        top = lowered.rule.target.module.partition(".")[0]
        if top.isidentifier():
            yield top


def _version(module: str) -> str:
    """Return the installed version of a module, or ""."""
    if importlib.util.find_spec(module) is None:
        return ""
    for name in (module, *importlib.metadata.packages_distributions().get(module, ())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return "installed"
