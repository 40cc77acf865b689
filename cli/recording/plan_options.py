"""Apply the options of `clew run` and `clew attach` to the plan of a spec, or to the default plan."""

from __future__ import annotations

import re
from pathlib import Path

from clew.cli.output.stderr import Mistake, write
from clew.records.plan.default_plan import OUTPUTS, default_plan
from clew.records.plan.plan import Plan

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SAMPLES_NOTHING = (
    "no `request` rule marks the start of a flow, so sampling has no effect; see docs/esl.md for an example"
)


def chosen_plan(
    command: str,
    spec: Path | None,
    workspace: Path,
    *,
    budget: str | None,
    quota: str | None,
    sample: str | None,
    keep: str | None = None,
    settings: tuple[str, ...] = (),
    outputs: bool = True,
    writes: bool = False,
) -> Plan | None:
    """Return the plan for the options of `command`, or None when the spec is invalid and its errors were printed.
    Raises `Mistake`."""
    try:
        if settings and spec is None:
            raise ValueError(f"--set {settings[0]}: parameters need a spec; add --spec")
        plan = default_plan(workspace) if spec is None else _compiled(spec, workspace, values_of(settings))
        if plan is None:
            return None
        if not outputs:
            plan = plan._replace(adapters=tuple(name for name in plan.adapters if name != OUTPUTS))
        if writes:
            plan = plan._replace(writes=True)
        if budget is not None:
            plan = plan._replace(budget=parse_share(budget))
        if quota is not None:
            plan = plan._replace(quota=parse_size(quota))
        if sample is not None:
            plan = plan._replace(sample=parse_share(sample, "--sample"))
        if keep is not None:
            plan = plan._replace(keep="newest" if keep == "newest" else "oldest")
    except ValueError as error:
        raise Mistake(str(error), command) from None
    return plan


def values_of(settings: tuple[str, ...]) -> dict[str, str]:
    """Parse `NAME=VALUE` settings. Raises `ValueError`."""
    values: dict[str, str] = {}
    for setting in settings:
        name, given, value = setting.partition("=")
        if not given or not name.strip().isidentifier():
            raise ValueError(f"--set {setting}: expected NAME=VALUE with the name of a parameter of the spec")
        values[name.strip()] = value
    return values


def _compiled(spec: Path, workspace: Path, settings: dict[str, str]) -> Plan | None:
    from clew.esl import check, render_all
    from clew.esl.syntax.problem import listing

    # Match against the source where the program runs, which can differ from the workspace of its runs.
    here = Path.cwd()
    root = workspace if here.is_relative_to(workspace) else here
    checked = check(spec, root, settings=settings)
    elsewhere = [problem for problem in checked.problems if problem.elsewhere]
    problems = [problem for problem in checked.problems if not (problem.elsewhere and len(elsewhere) > 1)]
    if problems:
        write(render_all(problems, checked.path, checked.text) + "\n")
    if len(elsewhere) > 1:
        packages = listing(list(dict.fromkeys(problem.elsewhere for problem in elsewhere)), "and", 3)
        write(
            f"{checked.path}: warning: {len(elsewhere)} patterns name functions of {packages}, whose source is not in "
            f"{root}; only the run shows their matches, or `clew check --workspace FOLDER` for source elsewhere\n"
        )
    return checked.plan


SHARES = {
    "--budget": "a share of run time that is above 0 and at most 100 %; write 3%, or `none` for no bound",
    "--sample": "a share of the request flows that is above 0 and at most 100 %; write 10%, or `none` for all of them",
}


def parse_share(text: str, option: str = "--budget") -> float | None:
    """Return `3%` or `0.03` as 0.03, and `none` as None. Raises `ValueError`."""
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{option} {text}: not {SHARES[option]}")
    return share


def parse_size(text: str) -> int:
    """Return `512MB` in bytes. Raises `ValueError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)B?", text.upper().replace(" ", ""))
    if not found:
        raise ValueError(f"--quota {text}: not a number of bytes; write 512MB or 2GB")
    size = int(float(found[1]) * _UNITS[found[2]])
    if size < _UNITS["M"]:
        raise ValueError(f"--quota {text}: a process needs at least 1MB; write 512MB or 2GB")
    return size
