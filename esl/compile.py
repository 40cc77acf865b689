"""From a spec's text or file to the probe plan: the language's entry points. They never raise for what a spec says;
what is wrong is a problem with a place."""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew.esl.ast import Part, Sample, Spec
from clew.esl.attribute_checker import check_attributes
from clew.esl.checker import check_tree
from clew.esl.index import SourceIndex
from clew.esl.lower import LoweredRule, lower
from clew.esl.matcher import RuleMatch, match
from clew.esl.meaning import mean
from clew.esl.parser import parse
from clew.esl.patience import Patience
from clew.esl.problem import EslProblem, SpecError, has_errors, in_order, render_all, warning
from clew.esl.proposals import Proposals
from clew.esl.source_checker import check_source
from clew.esl.span import Span
from clew.records.compiled import is_compiled
from clew.records.plan import Plan, samples_nothing
from clew.records.run import workspace_of


@dataclass(frozen=True)
class Compiled:
    """`plan` is None when there is an error. `tree` holds what could be read, `meant` the same with parameters put in, and
    `rules` what the statements without errors mean."""

    plan: Plan | None
    problems: tuple[EslProblem, ...]
    tree: Spec
    path: str
    text: str
    meant: Spec
    rules: tuple[LoweredRule, ...] = ()

    def require(self) -> Plan:
        """The plan. Raises `SpecError`, whose text shows every error, when there is none."""
        if self.plan is None:
            errors = [problem for problem in self.problems if problem.severity == "error"]
            raise SpecError(render_all(errors, self.path, self.text))
        return self.plan


@dataclass(frozen=True)
class Checked(Compiled):
    """A compiled spec that has been held against the source of a workspace. Its `plan` is that of `compile_text`: what
    the source says can be wrong about a program that is not in the workspace."""

    matches: tuple[RuleMatch, ...] = ()
    """For each of `rules` the functions it means."""
    notes: tuple[str, ...] = ()
    """Sentences about source that could not be read."""
    postponed: bool = False
    """Some of the problems may have a proposal when one asks again: there was no time to look for all."""


def compile_text(
    text: str,
    path: str | Path = "spec.esl",
    workspace: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
) -> Compiled:
    """`path` names the spec in messages and origins; it need not exist. Patterns that begin with `*` mean files below
    `workspace`, by default the project that `path` lies in. `settings` are values of the spec's parameters."""
    return _compile(text, str(path), _root(path, workspace), frozenset, settings)


def compile_file(
    path: str | Path, workspace: str | Path | None = None, settings: Mapping[str, str] | None = None
) -> Compiled:
    """Like `compile_text`, for a file. One that cannot be read is a problem at its first character."""
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
    patience: float = math.inf,
) -> Checked:
    """Compiles a spec and holds it against the Python source below `workspace` (by default the project that `path` lies
    in), without importing any. `text` stands for the file's contents, as an editor has them; `index` is one of an earlier
    check of the same workspace, and is refreshed unless its files are known to be as they were. `patience` is how many seconds
    of the processor the search for what misspelt patterns may have meant can take; what had no time is `postponed`."""
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
    proposals = Proposals(index, Patience(patience))
    slips = (
        *check_source(compiled.meant, found, index, proposals),
        *check_attributes(compiled.meant, found, index, proposals),
    )
    problems = in_order([*compiled.problems, *slips])
    notes = (*index.notes, *_written_in_c(found))
    told = {**vars(compiled), "problems": problems}
    return Checked(**told, matches=found, notes=notes, postponed=proposals.postponed)


def _written_in_c(found: Iterable[RuleMatch]) -> Iterator[str]:
    for each in found:
        pattern = each.rule.meant.pattern
        if not each.functions and is_compiled(pattern.module):
            yield (
                f"{each.rule.rule.origin}: `{pattern.text}` is written in C: its functions are wrapped when the module is "
                "imported; calls that C code makes without looking them up there are not seen"
            )


def _compile(
    text: str, path: str, root: Path, annotated: Callable[[], Collection[str]], settings: Mapping[str, str] | None
) -> Compiled:
    """`annotated` gives the channels that the program names itself; it is asked only if it matters."""
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
            message = "this leaves nothing out: no `request` says where a flow begins; add one, or a pack that has them"
            yield warning(message, part.here(part.unit.statement.number).span)


def _has_any(part: Part, places: list[int]) -> bool:
    """Is any of these places, which are in order, in the statement?"""
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
    """A spec's text, and a sentence that says why it cannot be read ("" when it can)."""
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig"), ""
    except FileNotFoundError:
        return "", "there is no such file; check the path, or make the file"
    except IsADirectoryError:
        return "", "this is a folder; name a spec (a file that ends in .esl)"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", f"this is not UTF-8 text (line {line}, byte {error.start}); save it as UTF-8"
    except OSError as error:
        return "", f"this cannot be read ({error.strerror})"
    except ValueError as error:
        return "", f"this is no usable path ({error})"
