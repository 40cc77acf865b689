"""From a spec's text or file to the probe plan: the language's entry points. They never raise for what a spec says;
what is wrong is a problem with a place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clew.esl.ast import Spec
from clew.esl.checker import check_tree
from clew.esl.lower import LoweredRule, lower
from clew.esl.parser import parse
from clew.esl.problem import EslProblem, SpecError, has_errors, in_order, render_all
from clew.esl.span import Span
from clew.records.plan import Plan
from clew.records.run import workspace_of


@dataclass(frozen=True)
class Compiled:
    """`plan` is None when there is an error. `tree` holds what could be read, and `rules` what the statements without
    errors mean."""

    plan: Plan | None
    problems: tuple[EslProblem, ...]
    tree: Spec
    path: str
    text: str
    rules: tuple[LoweredRule, ...] = ()

    def require(self) -> Plan:
        """The plan. Raises `SpecError`, whose text shows every error, when there is none."""
        if self.plan is None:
            errors = [problem for problem in self.problems if problem.severity == "error"]
            raise SpecError(render_all(errors, self.path, self.text))
        return self.plan


def compile_text(text: str, path: str | Path = "spec.esl", workspace: str | Path | None = None) -> Compiled:
    """`path` names the spec in messages and origins; it need not exist. Patterns that begin with `*` mean files below
    `workspace`, by default the project that `path` lies in."""
    name = str(path)
    parsed = parse(text)
    problems = in_order([*parsed.problems, *check_tree(parsed.tree)])
    bad = [problem.span for problem in problems if problem.severity == "error"]
    sound = tuple(
        statement
        for statement in parsed.tree.statements
        if not any(statement.span.start <= span.start <= statement.span.end for span in bad)
    )
    root = Path(workspace).resolve() if workspace is not None else workspace_of(Path(name).absolute().parent)
    lowered = lower(Spec(parsed.tree.span, sound), path=name, root=str(root))
    plan = None if has_errors(problems) else lowered.plan
    return Compiled(plan, problems, parsed.tree, name, text, lowered.rules)


def compile_file(path: str | Path, workspace: str | Path | None = None) -> Compiled:
    """Like `compile_text`, for a file. One that cannot be read is a problem at its first character."""
    text, problem = read(Path(path))
    if problem:
        nowhere = Span(1, 1, 1, 1)
        return Compiled(None, (EslProblem("error", problem, nowhere),), Spec(nowhere, ()), str(path), "")
    return compile_text(text, path, workspace)


def read(path: Path) -> tuple[str, str]:
    """A spec's text, and a sentence that says why it cannot be read ("" when it can)."""
    try:
        return path.read_bytes().decode("utf-8-sig"), ""
    except FileNotFoundError:
        return "", "there is no such file; check the path, or make the file"
    except IsADirectoryError:
        return "", "this is a folder; name a spec (a file that ends in .esl)"
    except UnicodeDecodeError as error:
        return "", f"this is not UTF-8 text (byte {error.start}); save it as UTF-8"
    except OSError as error:
        return "", f"this cannot be read ({error.strerror})"
    except ValueError as error:
        return "", f"this is no usable path ({error})"
