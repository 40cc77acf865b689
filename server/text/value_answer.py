"""Turn the answer of a second look into lines. `base` is the folder that paths are relative to."""

from __future__ import annotations

from clew.server.protocol.shared import Location
from clew.server.protocol.views.value import Omitted, ValueAnswer, ValueStepText
from clew.server.text import units


def lines(answer: ValueAnswer, base: str | None = None) -> list[str]:
    """Return the whole answer."""
    found = [f"{answer.title} ({looked(answer)})", "", *chain_lines(answer, base)]
    if answer.omitted:
        found += ["", "What could have changed these values and did not:", *omitted_lines(answer.omitted, base)]
    return [*found, "", *answer.notes] if answer.notes else found


def looked(answer: ValueAnswer) -> str:
    return f"second look: {units.count(answer.instructions, 'instruction')} in {units.duration(answer.seconds * 1e9)}"


def chain_lines(answer: ValueAnswer, base: str | None = None) -> list[str]:
    """Return the steps of the chain."""
    found = [_step_line(step, base) for step in answer.steps]
    if answer.moreSteps:
        found.append(f"… and {units.count(answer.moreSteps, 'further cause')}; --steps N shows more")
    return found


def omitted_lines(omitted: list[Omitted], base: str | None = None) -> list[str]:
    found = []
    for one in omitted:
        found.append(f"  {units.printable(one.text)}{_at(one.location, base)}")
        found += [f"    {_step_line(step, base)}" for step in one.steps]
    return found


def _step_line(step: ValueStepText, base: str | None) -> str:
    lead = "this ran because " if step.isControl else ""
    return f"{'  ' * step.depth}{lead}{units.printable(step.text)}{_at(step.location, base)}"


def _at(location: Location | None, base: str | None) -> str:
    return f"  ({units.place(location.path, location.line, base)})" if location is not None else ""
