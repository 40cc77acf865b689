"""Compile a spec's text or file to a probe plan: the entry points of the language. They never raise for the content of
a spec; every error is a problem with a place."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew.esl.assist.did_you_mean import Proposals
from clew.esl.checker.against_source import check_source
from clew.esl.checker.attributes import check_attributes
from clew.esl.checker.spec import check_tree
from clew.esl.index.deadline import Deadline
from clew.esl.index.index import SourceIndex
from clew.esl.index.match import RuleMatch, match
from clew.esl.lower.lower import LoweredRule, lower
from clew.esl.lower.resolve import mean
from clew.esl.syntax.ast import Part, Sample, Spec
from clew.esl.syntax.parser import parse
from clew.esl.syntax.problem import EslProblem, SpecError, has_errors, in_order, render_all, warning
from clew.esl.syntax.span import Span
from clew.records.plan.plan import Plan, samples_nothing
from clew.records.run.directory import workspace_of
from clew.source.c_modules import is_compiled


@dataclass(frozen=True)
class Compiled:
    """The result of compiling. `plan` is None when there is an error. `tree` has the parsed statements, `meant` the
    same with parameters substituted, and `rules` the meaning of the statements without errors."""

    plan: Plan | None
    problems: tuple[EslProblem, ...]
    tree: Spec
    path: str
    text: str
    meant: Spec
    rules: tuple[LoweredRule, ...] = ()

    def require(self) -> Plan:
        """Return the plan. Raises `SpecError`, whose text lists every error, when there is none."""
        if self.plan is None:
            errors = [problem for problem in self.problems if problem.severity == "error"]
            raise SpecError(render_all(errors, self.path, self.text))
        return self.plan


@dataclass(frozen=True)
class Checked(Compiled):
    """A compiled spec checked against the source of a workspace. Its `plan` is that of `compile_text`, because the
    source can be wrong about a program outside the workspace."""

    matches: tuple[RuleMatch, ...] = ()
    """For each of `rules`, the functions it matches."""
    notes: tuple[str, ...] = ()
    """Sentences about source files that could not be parsed."""
    postponed: bool = False
    """True if another request can add proposals to problems, because the time ran out."""


def compile_text(
    text: str,
    path: str | Path = "spec.esl",
    workspace: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Compiled:
    """Compile a text. `path` names the spec in messages and origins; it need not exist. Patterns that begin with `*`
    are bound to files below `workspace`, by default the project of `path`. `settings` are values of the spec's
    parameters."""
    return _compile(text, str(path), _root(path, workspace), frozenset, settings)


def compile_file(
    path: str | Path, workspace: str | Path | None = None, settings: Mapping[str, str] | None = None
) -> Compiled:
    """Compile a file like `compile_text`. An unreadable file is a problem at its first character."""
    text, problem = read(Path(path))
    return _unreadable(str(path), problem) if problem else compile_text(text, path, workspace, settings)


def check(
    path: str | Path,
    workspace: str | Path | None = None,
    *,
    text: str | None = None,
    index: SourceIndex | None = None,
    settings: Mapping[str, str] | None = None,
    refresh: bool = True,
    time_limit: float = math.inf,
) -> Checked:
    """Compile a spec and check it against the Python source below `workspace` (by default the project of `path`),
    without importing it. `text` replaces the file's contents, for editors. `index` comes from an earlier check of
    the same workspace, and is refreshed unless its files are known to be unchanged. `time_limit` limits the processor
    seconds for proposals to misspelt patterns; later proposals are `postponed`."""
    root = _root(path, workspace)
    if text is None:
        text, problem = read(Path(path))
        if problem:
            return Checked(**vars(_unreadable(str(path), problem)))
    if index is None:
        index = SourceIndex(root)
    elif refresh:
        index.refresh()
    compiled = _compile(text, str(path), root, functools.cache(index.annotated_channels), settings)
    found = match(compiled.rules, index)
    proposals = Proposals(index, Deadline(time_limit))
    slips = (
        *check_source(compiled.meant, found, index, proposals),
        *check_attributes(compiled.meant, found, index, proposals),
    )
    problems = in_order([*compiled.problems, *slips])
    notes = (*index.notes, *_written_in_c(found))
    fields = {**vars(compiled), "problems": problems}
    return Checked(**fields, matches=found, notes=notes, postponed=proposals.postponed)


def _written_in_c(found: Iterable[RuleMatch]) -> Iterator[str]:
    for each in found:
        pattern = each.rule.meant.pattern
        if not each.functions and is_compiled(pattern.module):
            yield (
                f"{each.rule.rule.origin}: `{pattern.text}` is written in C: its functions are wrapped at "
                "import, so direct calls from C code are not recorded"
            )


def _compile(
    text: str, path: str, root: Path, annotated: Callable[[], Collection[str]], settings: Mapping[str, str] | None
) -> Compiled:
    """Compile a text; `annotated` returns the channels that the program names itself and is called only if needed."""
    parsed = parse(text)
    meaning = mean(parsed.tree, texts=settings)
    problems = in_order([*parsed.problems, *meaning.problems, *check_tree(meaning.spec, annotated)])
    bad = sorted(problem.span.start for problem in problems if problem.severity == "error")
    sound = tuple(part for part in meaning.spec.parts if not _has_any(part, bad))
    lowered = lower(Spec(parsed.tree.span, sound), path=path, root=str(root))
    plan = None if has_errors(problems) else lowered.plan
    if plan is not None and samples_nothing(plan):
        problems = in_order([*problems, *_samples(meaning.spec)])
    return Compiled(plan, problems, parsed.tree, path, text, meaning.spec, lowered.rules)


def _samples(spec: Spec) -> Iterator[EslProblem]:
    for part in spec.parts:
        if isinstance(part.unit.statement, Sample):
            message = "`sample` has no effect: no `request` marks the start of a flow; add one, or a pack that has one"
            yield warning(message, part.here(part.unit.statement.number).span)


def _has_any(part: Part, places: list[int]) -> bool:
    """Tell whether any of these sorted places is in the statement."""
    span = part.unit.statement.span
    first = bisect_left(places, part.offset + span.start)
    return first < len(places) and places[first] <= part.offset + span.end


def _unreadable(path: str, problem: str) -> Compiled:
    nowhere = Span(1, 1, 1, 1)
    nothing = Spec(nowhere, ())
    return Compiled(None, (EslProblem("error", problem, nowhere),), nothing, path, "", nothing)


def _root(path: str | Path, workspace: str | Path | None) -> Path:
    return Path(workspace).resolve() if workspace is not None else workspace_of(Path(path).absolute().parent)


def read(path: Path) -> tuple[str, str]:
    """Return a spec's text, and a sentence with the reason when it cannot be read, else ""."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig"), ""
    except FileNotFoundError:
        return "", "the file does not exist; check the path, or create it"
    except IsADirectoryError:
        return "", "the path is a folder; name a spec (a file that ends in .esl)"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", f"the file is not UTF-8 text (line {line}, byte {error.start}); save it as UTF-8"
    except OSError as error:
        return "", f"the file cannot be read ({error.strerror})"
    except ValueError as error:
        return "", f"the path is invalid ({error})"
