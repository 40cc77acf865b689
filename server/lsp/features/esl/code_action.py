"""Quick fixes for problems of a spec, each alone and all certain ones at once; in Python files rules for the symbol
under the cursor, and questions about failed tests, values and states; in logs the question why a line was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.lsp.features import log_lines
from clew.server.lsp.features.diagnostics import diagnostic
from clew.server.lsp.features.esl import python_actions
from clew.server.lsp.features.esl.spec_text import SpecText, is_spec
from clew.server.lsp.features.findings import failed_tests, states, values
from clew.server.lsp.positions import path_of
from clew.server.session.session import Cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.esl import EslProblem
    from clew.esl.checker.quick_fixes import Fix
    from clew.server.lsp.server import ClewServer

FIX_ALL = types.CodeActionKind.SourceFixAll
KINDS = [types.CodeActionKind.QuickFix, FIX_ALL, python_actions.KIND]


def register(server: ClewServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=KINDS))
    async def actions(params: types.CodeActionParams) -> Sequence[types.CodeAction | types.Command]:
        uri, only = params.text_document.uri, params.context.only
        document = server.open_document(uri)
        if document is None:
            return []
        try:
            if uri.endswith(".py"):
                path, text, line = path_of(uri), document.source, params.range.start.line + 1
                found: list[types.CodeAction | types.Command] = []
                if _wanted(failed_tests.KIND, only) and server.failed_tests.found is not None:
                    found += await server.work("clew", lambda _: list(server.failed_tests.actions(path, text, line)))
                if _wanted(values.KIND, only):
                    offset = document.offset_at_position(params.range.start)
                    column = offset - (text.rfind("\n", 0, offset) + 1)
                    found += await server.work(
                        "clew", lambda task: values.actions(server, path, text, line=line, column=column, task=task)
                    )
                    found += await server.work(
                        "clew", lambda task: states.actions(server, path, text, line=line, column=column, task=task)
                    )
                if _wanted(python_actions.KIND, only):
                    found += await server.work("clew", lambda _: python_actions.actions(server, path, text, line))
                return found
            if not is_spec(uri):
                if params.context.only or not log_lines.may_be_log(server, uri):
                    return []
                row = params.range.start.line
                return await server.work("clew", lambda task: log_lines.actions(server, uri, row, task))
            spec = SpecText.of(document)
            problems = await server.work("clew", lambda _: server.specs.checked(spec.path, spec.text).problems)
        except ClewError as error:
            if not isinstance(error, Cancelled):
                server.show_once(str(error))
            return []
        fixes = quick_fixes(spec, problems, params.range) if _wanted(types.CodeActionKind.QuickFix, only) else []
        return fixes + (fix_all(spec, problems) if _wanted(FIX_ALL, only) else [])


def _wanted(kind: types.CodeActionKind, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    return not only or any(kind.value == one or kind.value.startswith(f"{one}.") for one in map(_text, only))


def _text(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def quick_fixes(spec: SpecText, problems: Sequence[EslProblem], place: types.Range) -> list[types.CodeAction]:
    """Return the fixes of problems on the lines of a range, problems within it first."""
    from clew.esl.checker.quick_fixes import fix_of

    start, end = spec.offset(place.start), spec.offset(place.end)
    first, last = place.start.line + 1, place.end.line + 1
    near = [problem for problem in problems if problem.span.line <= last and problem.span.end_line >= first]
    near.sort(key=lambda problem: not (problem.span.start <= end and start <= problem.span.end))
    made = []
    for number, problem in enumerate(near):
        fix = fix_of(problem, spec.text)
        if fix is not None:
            made.append(
                types.CodeAction(
                    title=fix.title,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic(problem, spec)],
                    is_preferred=number == 0,
                    edit=_edit(spec, [fix]),
                )
            )
    return made


def fix_all(spec: SpecText, problems: Sequence[EslProblem]) -> list[types.CodeAction]:
    """Return one action with all fixes; of overlapping fixes the first is used."""
    from clew.esl.checker.quick_fixes import fix_of

    taken: list[Fix] = []
    for problem in problems:
        fix = fix_of(problem, spec.text)
        if fix is not None and all(fix.start >= other.end or fix.end <= other.start for other in taken):
            taken.append(fix)
    if not taken:
        return []
    return [types.CodeAction(title="Apply all fixes", kind=FIX_ALL, edit=_edit(spec, taken))]


def _edit(spec: SpecText, fixes: Sequence[Fix]) -> types.WorkspaceEdit:
    edits = [types.TextEdit(spec.range(fix.start, fix.end), fix.text) for fix in fixes]
    return types.WorkspaceEdit(changes={spec.uri: edits})
