"""`clew doctor`: checks whether recording works here, and lists what a bug report needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output.options import json_option, print_json, workspace_option
from clew.records.run.directory import the_workspace

if TYPE_CHECKING:
    from clew.cli.diagnosis.finding import Finding, Section

_MARKS = {"ok": " ", "note": "!", "problem": "x"}


@click.command()
@workspace_option
@json_option
@click.pass_context
def doctor(context: click.Context, workspace: Path | None, as_json: bool) -> None:
    """Check whether recording works here, and list what a bug report needs.

    Shows the interpreter, the platform, the limits of the system, the parts of clew that are built, the versions of
    libraries, and which packs follow them. It records a small program in a temporary folder to check that all parts work.
    `!` marks what is missing or slow, `x` what keeps clew from recording; then the exit code is 1.

    \b
    Examples:
      clew doctor
      clew doctor --json > report.json
      clew doctor --workspace /srv/shop || echo 'clew cannot record here'
    """
    from clew.cli.diagnosis import parts

    folder = the_workspace(workspace)
    sections = _examined(folder)
    packs = parts.followed(folder)
    broken = any(finding.status == "problem" for section in sections for finding in section.findings)
    if as_json:
        checks = {section.name: [finding._asdict() for finding in section.findings] for section in sections}
        print_json({"canRecord": not broken, "checks": checks, "packs": packs})
    else:
        for section in sections:
            _print_section(section)
        _print_packs(packs)
        click.echo(f"\n{'clew cannot record here' if broken else 'clew can record here'}")
    context.exit(int(broken))


def _examined(workspace: Path) -> list[Section]:
    from clew.cli.diagnosis import machine, parts
    from clew.cli.diagnosis.finding import section
    from clew.cli.diagnosis.trial import trial

    def disk() -> list[Finding]:
        return list(machine.disk(workspace))

    return [
        section("clew", parts.version, parts.c_core, parts.panel),
        section("python", machine.interpreter, parts.libraries),
        section("system", machine.system, machine.clock, disk, machine.limits, machine.attach),
        section("event loops", parts.event_loops),
        section("trial", trial),
    ]


def _print_section(section: Section) -> None:
    click.echo(section.name)
    width = max((len(finding.name) for finding in section.findings), default=0)
    for finding in section.findings:
        click.echo(f"{_MARKS[finding.status]} {finding.name:{width}}  {finding.value}")
        if finding.advice:
            click.echo(f"  {'':{width}}  {finding.advice}")


def _print_packs(packs: list[dict[str, Any]]) -> None:
    """Print the packs of the standard library and of installed libraries, and the names of the others."""
    click.echo("packs")
    available = [pack for pack in packs if pack["available"]]
    width = max(len(pack["name"]) for pack in available)
    for pack in available:
        library = ", ".join(f"{name} {version}" for name, version in pack["installed"].items()) or "standard library"
        by = f"followed by {', '.join(pack['followedBy'])}" if pack["followedBy"] else "not followed: `include` adds it"
        click.echo(f"  {pack['name']:{width}}  {library}; {by}")
    others = [pack["name"] for pack in packs if not pack["available"]]
    if others:
        click.echo(f"  their libraries are not installed: {', '.join(others)}")
