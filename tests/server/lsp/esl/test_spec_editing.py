"""Editing a spec: quick fixes, completion and formatting."""

import pytest
from lsprotocol import types

from tests.support.editor.open_spec import actions_of

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Quick fixes


@pytest.mark.parametrize(
    ("marked", "title", "after"),
    [
        ("include asy|nio;\n", "Change to `asyncio`", "include asyncio;\n"),
        ("include asyncio, thr|eads, threads;\n", "Remove `threads`", "include asyncio, threads;\n"),
        ("include standard;\nscope shop.app\n|", None, None),
        ("include standard;\nscope shop.a|pp:order", "Insert `;`", "include standard;\nscope shop.app:order;"),
        ("/* 😀é */ include standard;\nscope shop.app:ord|r;\n", "Change to `shop.app:order`",
         "/* 😀é */ include standard;\nscope shop.app:order;\n"),
        ("include standard;\nsend e|ach shop.app:order key item;\n", "Remove `each`",
         "include standard;\nsend shop.app:order key item;\n"),
        ("include asyncio;\ninclude as|yncio;\nlogs;\n", "Remove `asyncio`", "include asyncio;\nlogs;\n"),
        ("include standard, asyn|cio;\nlogs;\n", "Remove `asyncio`", "include standard;\nlogs;\n"),
        ("include standard;\npayload shop.app:Stock.lookup value this.na|m;\n", "Change to `name`",
         "include standard;\npayload shop.app:Stock.lookup value this.name;\n"),
        ("include standard;\npayload shop.app:order value ite|n;\n", "Change to `item`",
         "include standard;\npayload shop.app:order value item;\n"),
        ("include standard; budget |3;", "Change to `3%`", "include standard; budget 3%;"),
    ],
)  # fmt: skip
async def test_spec_quick_fix_mends_its_problem(editor, open_spec, marked, title, after):
    spec = open_spec(marked)
    found = await actions_of(editor, spec)
    titles = {action.title: action for action in found if action.kind == types.CodeActionKind.QuickFix}
    if title is None:
        assert titles == {}
    else:
        assert spec.edited(titles[title].edit.changes[spec.uri]) == after
        assert titles[title].diagnostics[0].message


async def test_spec_fix_all_mends_every_problem(editor, open_spec):
    spec = open_spec("include |asynio;\nscope shop.app:ordr;\nscope shop.audit:audit\n")
    (action,) = await actions_of(editor, spec, only=[types.CodeActionKind.SourceFixAll])
    assert spec.edited(action.edit.changes[spec.uri]) == (
        "include asyncio;\nscope shop.app:order;\nscope shop.audit:audit;\n"
    )


# Completion


async def labels(editor, spec):
    answer = await editor.text_document_completion_async(types.CompletionParams(**spec.at))
    return {item.label: item for item in answer.items}


@pytest.mark.parametrize(
    ("marked", "there", "not_there"),
    [
        ("|", {"include", "scope", "send", "entity", "level"}, {"key", "watch"}),
        ("include standard;\nse|", {"send"}, {"key"}),
        ("include |", {"standard", "asyncio"}, {"send"}),
        ("include asyncio, |", {"standard"}, {"asyncio"}),
        ("send |", {"start", "finish", "shop"}, {"as"}),
        ("scope shop.|", {"shop.app", "shop.audit", "shop.**"}, {"shop.app:order"}),
        ("send shop.app:|", {"shop.app:order", "shop.app:Stock.lookup", "shop.app:Stock.*"}, {"shop.audit:audit"}),
        ("send shop.app:order key |", {"item", "user", "len", "not"}, {"count", "result"}),
        ("send finish shop.app:Stock.lookup key |", {"item", "count", "this", "result"}, {"user"}),
        ("send shop.app:order key item |", {"as", "when"}, {"limit", "key", "into"}),
        ("payload shop.app:order value item |", {"as", "limit", "when"}, {"key"}),
        ("receive shop.audit:audit key item as sold;\nsend shop.app:order key item as |", {"sold", "order"}, set()),
        ("logs level |", {"DEBUG", "ERROR"}, {"MB"}),
        ("quota 5 |", {"MB", "keep newest"}, {"KEEP"}),
        ("entity Stock is shop.app:|", {"shop.app:Stock", "shop.app:Base"}, {"shop.app:order"}),
        ("scope shop.** in subclasses of shop.app:|", {"shop.app:Stock", "shop.app:Base"}, {"shop.app:order"}),
        ("scope shop.** in shop.app:Base, shop.app:|", {"shop.app:Stock"}, {"shop.app:order", "shop.app:Stock.*"}),
        ("entity Stock is shop.app:Stock {\n    |\n}", {"watch", "when"}, {"send"}),
        ("entity Stock is shop.app:Stock {\n    when finish |", {"__init__", "lookup"}, {"order"}),
        ("entity Stock is shop.app:Stock {\n    when finish lookup(|", {"item", "count"}, {"self"}),
        ("entity Stock is shop.app:Stock {\n when finish lookup(item) -> |", {"position", "deletion"}, {"item"}),
        ("entity Stock is shop.app:Stock {\n watch n is this.name;\n when finish lookup(item) -> position(|",
         {"item", "n", "this"}, {"count"}),
        ("send shop.app:Stock.lookup key this.|", {"size", "startswith"}, {"item"}),
        ("// send |", set(), {"start"}),
        ('request shop.app:order as "a |', set(), {"start"}),
        ("this is wrong;\nscope shop.|", {"shop.app"}, set()),
        ("scope shop.app\nscope shop.|\nscope shop.audit;", {"shop.app"}, set()),
    ],
)  # fmt: skip
async def test_spec_completion_proposes_valid_keywords_and_names(editor, open_spec, marked, there, not_there):
    found = await labels(editor, open_spec(marked))
    assert there <= set(found) and not_there.isdisjoint(found)


async def test_spec_completion_item_replaces_the_typed_word(editor, open_spec):
    spec = open_spec("/* 😀é */ send shop.app:Stock.look|")
    item = (await labels(editor, spec))["shop.app:Stock.lookup"]
    assert spec.edited([item.text_edit]) == "/* 😀é */ send shop.app:Stock.lookup"
    assert item.detail == "(self, item, count)" and item.kind == types.CompletionItemKind.Method


async def test_spec_completion_of_statement_is_a_snippet(editor, open_spec):
    item = (await labels(editor, open_spec("sen|")))["send"]
    assert item.insert_text_format == types.InsertTextFormat.Snippet
    assert item.text_edit.new_text.startswith("send ${1:module:function} key ")
    assert "one thing causes another" in item.documentation.value


# Formatting


async def test_formatting_of_spec_sends_changed_lines_only(editor, open_spec):
    spec = open_spec("include standard;\nlogs  level   DEBUG;\n// 😀\nscope shop.app ; // é\nscope shop.audit;\n")
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    edits = await editor.text_document_formatting_async(types.DocumentFormattingParams(spec.document, options))
    assert spec.edited(edits) == (
        "include standard;\nlogs level DEBUG;\n// 😀\nscope shop.app;  // é\nscope shop.audit;\n"
    )
    assert [edit.range.start.line for edit in edits] == [1, 3]
    one = await editor.text_document_range_formatting_async(
        types.DocumentRangeFormattingParams(spec.document, spec.spec.range(20, 22), options)
    )
    assert [edit.range.start.line for edit in one] == [1]


async def test_spec_on_type_formatting_formats_the_ended_statement(editor, open_spec):
    spec = open_spec("logs   ;\nsend a:b key  x;|\n")
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    edits = await editor.text_document_on_type_formatting_async(
        types.DocumentOnTypeFormattingParams(spec.document, spec.position, ";", options)
    )
    # The lines next to it belong to the same change.
    assert "send a:b key x;" in spec.edited(edits)
