"""Code actions that lead from Python files into specs, and diagnostics of specs while their source is edited."""

import pytest
from lsprotocol import types

from clew.server.lsp.features.esl.spec_text import SpecText
from tests.support.editor.open_spec import APP, actions_of, edited

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def rules_offered(editor, source):
    found = await actions_of(editor, source)
    return {action.title: action.edit for action in found}


async def test_python_code_action_adds_a_rule_for_the_function(editor, open_spec, workspace):
    source = open_spec(APP.replace("def mark_sold", "def mark|_sold"), "shop/app.py")
    target = workspace / "work-space-é.esl"
    offered = await rules_offered(editor, source)
    assert set(offered) == {
        "clew: trace this function", "clew: mark this as a request", "clew: send here (key item)",
        "clew: receive here (key item)",
    }  # fmt: skip
    create, insert = offered["clew: send here (key item)"].document_changes
    assert create.uri == target.as_uri() == insert.text_document.uri
    rule = "send shop.app:Stock.mark_sold key item as mark_sold;\n"
    assert insert.edits[0].new_text == f"include standard;\n\n{rule}"

    target.write_text("include standard;\nsend shop.app:order key item as o; // first\nlogs;\n")
    try:
        editor.text_document_did_save(types.DidSaveTextDocumentParams(source.document))
        offered = await rules_offered(editor, source)
        spec = SpecText(target.as_uri(), target.read_text())
        assert edited(spec, offered["clew: send here (key item)"].changes[spec.uri]) == (
            f"include standard;\nsend shop.app:order key item as o; // first\n{rule}logs;\n"
        )
        assert edited(spec, offered["clew: trace this function"].changes[spec.uri]).endswith(
            "logs;\n\nscope shop.app:Stock.mark_sold;\n"
        )
    finally:
        target.unlink()
        editor.text_document_did_save(types.DidSaveTextDocumentParams(source.document))


async def test_python_code_action_adds_an_entity_for_the_class(editor, open_spec):
    source = open_spec(APP.replace("class Stock", "class St|ock"), "shop/app.py")
    offered = await rules_offered(editor, source)
    assert offered["clew: declare an entity of this class"].document_changes[1].edits[0].new_text == (
        "include standard;\n\nentity Stock is shop.app:Stock {\n    when finish __init__() -> position(this);\n}\n"
    )
    elsewhere = open_spec(APP.replace("return item", "return| item"), "shop/app.py")
    assert await rules_offered(editor, elsewhere) == {}


async def test_spec_diagnostics_follow_unsaved_python_source(editor, open_spec):
    spec = open_spec("include standard;\nscope shop.audit:checked;\n")
    await editor.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert len(editor.diagnostics[spec.uri]) == 1
    source = open_spec("def audit(item):\n    pass\n", "shop/audit.py")
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=2, uri=source.uri),
            [types.TextDocumentContentChangeWholeDocument("def checked(item):\n    pass\n")],
        )
    )
    await editor.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    assert list(editor.diagnostics[spec.uri]) == []
