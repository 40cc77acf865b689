"""Code actions in Python files that add a rule for the function or class under the cursor to the workspace's spec.

Invariant: the answer is an edit only, which the editor can show and undo.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.server.lsp.features.esl.spec_text import SUFFIX, SpecText
from clew.server.lsp.positions import uri_of

if TYPE_CHECKING:
    from clew.esl.assist.insert_rule import Addition
    from clew.server.lsp.server import ClewServer
    from clew.server.session.specs import Specs

KIND = types.CodeActionKind.RefactorRewrite
MOST_SPECS = 3
"""Maximum number of specs to choose from if the workspace has no main spec."""


def actions(server: ClewServer, path: str, text: str, line: int) -> list[types.CodeAction]:
    """Return the actions for the `def` or `class` in a line (from 1)."""
    specs = server.specs
    found = additions(specs, path, text, line)
    if not found:
        return []
    made = []
    targets = _targets(specs, server.session.spec)
    resource = _can_create(server)
    for addition in found:
        for target in targets:
            edit = _edit(server, addition, target, create=resource)
            if edit is not None:
                where = f" ({Path(target).name})" if len(targets) > 1 else ""
                made.append(types.CodeAction(title=f"clew: {addition.title}{where}", kind=KIND, edit=edit))
    return made


def additions(specs: Specs, path: str, text: str, line: int) -> list[Addition]:
    from clew.esl.assist.insert_rule import for_class, for_function

    functions, classes = specs.source(path, text)
    function = next(
        (each for each in functions if each.first_line <= line <= each.line and each.kind != "lambda"), None
    )
    if function is not None:
        return list(for_function(function))
    owner = next((each for each in classes if each.line == line), None)
    return list(for_class(owner, functions)) if owner is not None else []


def _targets(specs: Specs, configured: str) -> list[str]:
    """Return the configured spec, else the only one, else the few at the workspace's top; else a new one."""
    if configured:
        return [str(Path(specs.workspace, configured))]
    found = specs.specs()
    if len(found) > 1:
        found = [each for each in found if each.parent == specs.workspace] or found
    if found:
        return [str(each) for each in found[:MOST_SPECS]]
    return [str(specs.workspace / f"{specs.workspace.name.replace(' ', '-') or 'clew'}{SUFFIX}")]


def _can_create(server: ClewServer) -> bool:
    workspace = server.client_capabilities.workspace
    edits = workspace.workspace_edit if workspace else None
    return bool(
        edits and edits.document_changes and types.ResourceOperationKind.Create in (edits.resource_operations or [])
    )


def _edit(server: ClewServer, addition: Addition, target: str, *, create: bool) -> types.WorkspaceEdit | None:
    """Return the edit; None if the spec has the rule already, or the editor cannot create files."""
    from clew.esl.assist.insert_rule import NEW, has, place_for
    from clew.esl.syntax.parser import parse

    uri = uri_of(target)
    text = server.session.text(target)
    if text is None:
        if not create:
            return None
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        return types.WorkspaceEdit(
            document_changes=[
                types.CreateFile(uri=uri, options=types.CreateFileOptions(ignore_if_exists=True)),
                types.TextDocumentEdit(
                    types.OptionalVersionedTextDocumentIdentifier(uri),
                    [types.TextEdit(start, f"{NEW}\n{addition.text}\n")],
                ),
            ]
        )
    if has(addition, text):
        return None
    offset, added = place_for(addition, parse(text).tree, text)
    return types.WorkspaceEdit(changes={uri: [types.TextEdit(SpecText(uri, text).range(offset, offset), added)]})
