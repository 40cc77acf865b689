"""Reading a spec: hovers, outline, colours, folds, selections, lenses and hints."""

import pytest
from lsprotocol import types

from tests.support.editor.open_spec import places

pytestmark = pytest.mark.asyncio(loop_scope="module")


# Hovers


@pytest.mark.parametrize(
    ("marked", "parts"),
    [
        ("scope shop.|**;", ["**7 functions** in 2 files", "[shop.app:Stock.__init__](file://", "and 2 more"]),
        ("send shop.app:or|der key item;", ["**1 function**", "`async (item, user)`", "app.py#L25"]),
        ("scope shop.** except shop.au|dit;", ["**1 function left out**", "shop.audit:audit"]),
        ("scope shop.gon|e;", ["matches no function of the workspace"]),
        ("se|nd shop.app:order key item;", ["one thing causes another", "`each`"]),
        ("send shop.app:order ke|y item;", ["`key` identifies the object"]),
        ("send shop.app:order key i|tem;", ["`item`: a parameter of [shop.app:order]"]),
        ("scope shop.** decorated b|y property;", ["decorated by NAME"]),
        ("quota 5MB keep old|est;", ["`keep oldest`"]),
        ("include asyncio, requ|ests;", ["pack `requests`: requests: the calls", "`urls` (default `False`)", "µs more"]),
        ("include asy|ncio;", ["pack `asyncio`: tasks, futures"]),
        ("send shop.app:* key it|em as x;", ["a parameter of 1 of the 2 functions"]),
        ("payload shop.app:order value l|en(item);", ["of builtin values"]),
        ("send shop.app:order key item as so|ld;\nreceive shop.audit:audit key item as sold;",
         ["channel `sold`: 1 × `send`, 1 × `receive`"]),
        ("entity Stock is shop.app:Sto|ck {\n when finish __init__() -> position(this);\n}", ["**4 methods**"]),
        ("entity Stock is shop.app:Stock {\n when finish look|up() -> position(this);\n}",
         ["when finish shop.app:Stock.lookup", "**1 function**"]),
    ],
)  # fmt: skip
async def test_spec_hover_explains_the_word(editor, open_spec, marked, parts):
    spec = open_spec(marked)
    answer = await editor.text_document_hover_async(types.HoverParams(**spec.at))
    assert [part for part in parts if part not in answer.contents.value] == [], answer.contents.value
    start, end = spec.spec.offset(answer.range.start), spec.spec.offset(answer.range.end)
    assert start <= spec.spec.offset(spec.position) <= end


async def test_spec_hover_on_plain_text_is_missing(editor, open_spec):
    for marked in ("scope shop.**|;  ", "// sc|ope\n", "budget |3%;"):
        spec = open_spec(marked + "|" if "|" not in marked else marked)
        answer = await editor.text_document_hover_async(types.HoverParams(**spec.at))
        assert answer is None or "scope" in answer.contents.value


# The outline, colours, folds, selections


async def test_spec_outline_has_statements_and_their_parts(editor, open_spec):
    spec = open_spec(
        "include standard;\nrequest shop.app:order as buy;\nbroken ;\nlevel part = { desk: shop.app };\n"
        "entity Stock is shop.app:Stock {\n    watch n is this.name;\n    when finish lookup() -> position(this);\n}\n"
    )
    found = await editor.text_document_document_symbol_async(types.DocumentSymbolParams(spec.document))
    assert [(each.name, each.detail, [child.name for child in each.children]) for each in found] == [
        ("include standard", "", []),
        ("request shop.app:order", "buy", []),
        ("part", "level", ["desk"]),
        ("Stock", "shop.app:Stock", ["n", "finish lookup -> position"]),
    ]
    named = await editor.workspace_symbol_async(types.WorkspaceSymbolParams("sto"))
    assert [(each.name, each.location.range.start.line) for each in named if each.location.uri == spec.uri] == [
        ("Stock", 4)
    ]


async def test_spec_semantic_tokens_follow_the_meaning_of_words(editor, open_spec):
    from clew.server.lsp.features.esl.tokens import MODIFIERS, TYPES

    spec = open_spec("/* 😀\né */ send finish shop.app:Stock.lookup key len(item) as sold; // end\nentity A is 7;")
    data = (await editor.text_document_semantic_tokens_full_async(types.SemanticTokensParams(spec.document))).data
    row = column = 0
    told = []
    for index in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[index : index + 5]
        row, column = row + down, right + (0 if down else column)
        start = spec.spec.offset(types.Position(row, column))
        stop = spec.spec.offset(types.Position(row, column + length))
        said = [name for bit, name in enumerate(MODIFIERS) if modifiers >> bit & 1]
        told.append((spec.text[start:stop], TYPES[kind], *said))
    assert told == [
        ("/* 😀", "comment"), ("é */", "comment"), ("send", "keyword"), ("finish", "keyword"),
        ("shop.app", "namespace"), ("Stock", "class"), ("lookup", "method"), ("key", "keyword"),
        ("len", "function", "defaultLibrary"), ("item", "parameter"), ("as", "keyword"),
        ("sold", "enumMember", "declaration"), ("// end", "comment"),
        ("entity", "keyword"), ("A", "class", "declaration"), ("is", "keyword"), ("7", "namespace"),
    ]  # fmt: skip
    part = await editor.text_document_semantic_tokens_range_async(
        types.SemanticTokensRangeParams(spec.document, types.Range(types.Position(2, 0), types.Position(2, 9)))
    )
    assert len(part.data) == 4 * 5 and part.data[0] == 2


async def test_spec_folding_ranges_cover_comments_and_statements(editor, open_spec):
    spec = open_spec("// a\n// b\nlogs;\nentity A is m:A {\n    watch a is this.b;\n}\n\n/* x\ny */\nscope a,\n  b;\n")
    found = await editor.text_document_folding_range_async(types.FoldingRangeParams(spec.document))
    assert sorted((each.start_line, each.end_line, each.kind) for each in found) == [
        (0, 1, "comment"), (3, 4, None), (7, 8, "comment"), (9, 10, None),
    ]  # fmt: skip


async def test_spec_selection_range_grows_from_word_to_text(editor, open_spec):
    spec = open_spec("logs;\nsend a:b key (message.bo|dy, x) as c;\n")
    (chain,) = await editor.text_document_selection_range_async(
        types.SelectionRangeParams(spec.document, [spec.position])
    )
    texts = []
    while chain is not None:
        texts.append(spec.text[spec.spec.offset(chain.range.start) : spec.spec.offset(chain.range.end)])
        chain = chain.parent
    assert texts == [
        "body", "message.body", "(message.body, x)", "key (message.body, x)",
        "send a:b key (message.body, x) as c", spec.text,
    ]  # fmt: skip


# Lenses and hints


async def test_spec_lens_above_rule_counts_its_functions(editor, open_spec):
    spec = open_spec("include standard;\nscope shop.app, shop.audit;\nscope shop.gone;\n")
    found = await editor.text_document_code_lens_async(types.CodeLensParams(spec.document))
    assert [(lens.range.start.line, lens.command.title) for lens in found] == [
        (1, "matches 7 functions"), (1, "record"), (2, "matches no function"),
    ]  # fmt: skip
    shown = found[0].command
    assert (shown.command, list(shown.arguments)) == ("clew.showFunctions", [spec.uri, {"line": 1, "character": 0}])
    place = types.Position(shown.arguments[1]["line"], shown.arguments[1]["character"])
    functions = await editor.text_document_definition_async(types.DefinitionParams(spec.document, place))
    assert [name for name, _ in places(functions)] == ["app.py"] * 6 + ["audit.py"]
    assert found[2].command.command == ""
    hints = await editor.text_document_inlay_hint_async(types.InlayHintParams(spec.document, spec.whole))
    assert [(hint.position.line, hint.position.character, hint.label) for hint in hints] == [
        (1, len("scope shop.app"), "6"), (1, len("scope shop.app, shop.audit"), "1"),
    ]  # fmt: skip
