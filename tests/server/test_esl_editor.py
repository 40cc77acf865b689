"""What an editor is told about `.esl` files: texts with a `|` where the cursor is, asked of the real server."""

import itertools
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import PositionCodec
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from clew.server.features.esl.spec_text import SpecText

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = itertools.count(1)

APP = '''\
"""A shop."""
import functools


class Base:
    pass


class Stock(Base):
    def __init__(self, name: str):
        self.name = name
        self.items = {}

    def lookup(self, item, count=1):
        return self.items[item]

    def mark_sold(self, item):
        self.items.pop(item)

    @property
    def size(self):
        return len(self.items)


async def order(item, user):
    return item


def main():
    pass
'''


def make_client():
    client = make_test_lsp_client()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def _(_params):
        pass

    return client


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("esl") / "work space é"
    (folder / ".clew" / "runs").mkdir(parents=True)
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").write_text("")
    (folder / "shop" / "app.py").write_text(APP)
    (folder / "shop" / "audit.py").write_text("def audit(item):\n    pass\n")
    return folder


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=make_client),
    scope="module",
    loop_scope="module",
)
async def editor(lsp_client: LanguageClient, workspace):
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("visual-studio-code"),
            workspace_folders=[types.WorkspaceFolder(uri=workspace.as_uri(), name="w")],
            initialization_options={"panel": True},
        )
    )
    yield
    await lsp_client.shutdown_session()


class Opened:
    """A spec that is open in the editor, and the place of the `|` in it."""

    def __init__(self, editor, workspace, marked, name=""):
        before, bar, after = marked.partition("|")
        self.text = before + after
        path = workspace / (name or f"a{next(numbers)}.esl")
        self.uri, self.path = path.as_uri(), path
        self.spec = SpecText(self.uri, self.text, PositionCodec())
        self.position = self.spec.position(len(before)) if bar else None
        language = "python" if path.suffix == ".py" else "esl"
        editor.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, language, 1, self.text))
        )

    @property
    def document(self):
        return types.TextDocumentIdentifier(self.uri)

    @property
    def at(self):
        return {"text_document": self.document, "position": self.position}

    @property
    def whole(self):
        return self.spec.range(0, len(self.text))

    def edited(self, edits):
        return edited(self.spec, edits)


def edited(spec, edits):
    text = spec.text
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        start, end = spec.offset(edit.range.start), spec.offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


@pytest.fixture
def open_spec(editor, workspace):
    opened = []

    def make(marked, name=""):
        opened.append(Opened(editor, workspace, marked, name))
        return opened[-1]

    yield make
    for one in opened:
        editor.text_document_did_close(types.DidCloseTextDocumentParams(one.document))


# Quick fixes


async def actions_of(editor, spec, only=None):
    place = types.Range(spec.position, spec.position)
    return await editor.text_document_code_action_async(
        types.CodeActionParams(spec.document, place, types.CodeActionContext([], only=only))
    )


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
        ("include standard; budget |3;", "Change to `3%`", "include standard; budget 3%;"),
    ],
)  # fmt: skip
async def test_a_problem_is_mended_by_one_action(editor, open_spec, marked, title, after):
    spec = open_spec(marked)
    found = await actions_of(editor, spec)
    titles = {action.title: action for action in found if action.kind == types.CodeActionKind.QuickFix}
    if title is None:
        assert titles == {}
    else:
        assert spec.edited(titles[title].edit.changes[spec.uri]) == after
        assert titles[title].diagnostics[0].message


async def test_everything_is_mended_at_once(editor, open_spec):
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
        ("entity Stock is shop.app:|", {"shop.app:Stock"}, {"shop.app:order"}),
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
async def test_what_can_stand_there_is_proposed(editor, open_spec, marked, there, not_there):
    found = await labels(editor, open_spec(marked))
    assert there <= set(found) and not_there.isdisjoint(found)


async def test_a_proposal_replaces_what_was_typed_and_says_what_it_is(editor, open_spec):
    spec = open_spec("/* 😀é */ send shop.app:Stock.look|")
    item = (await labels(editor, spec))["shop.app:Stock.lookup"]
    assert spec.edited([item.text_edit]) == "/* 😀é */ send shop.app:Stock.lookup"
    assert item.detail == "(self, item, count)" and item.kind == types.CompletionItemKind.Method


async def test_a_statement_is_proposed_with_the_places_to_fill_in(editor, open_spec):
    item = (await labels(editor, open_spec("sen|")))["send"]
    assert item.insert_text_format == types.InsertTextFormat.Snippet
    assert item.text_edit.new_text.startswith("send ${1:module:function} key ")
    assert "one thing causes another" in item.documentation.value


# Formatting


async def test_only_lines_that_change_are_sent_when_a_spec_is_formatted(editor, open_spec):
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


async def test_what_was_typed_is_formatted_at_its_end(editor, open_spec):
    spec = open_spec("logs   ;\nsend a:b key  x;|\n")
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)
    edits = await editor.text_document_on_type_formatting_async(
        types.DocumentOnTypeFormattingParams(spec.document, spec.position, ";", options)
    )
    # The lines beside it are one change with it.
    assert "send a:b key x;" in spec.edited(edits)


# Hovers


@pytest.mark.parametrize(
    ("marked", "parts"),
    [
        ("scope shop.|**;", ["**7 functions** in 2 files", "[shop.app:Stock.__init__](file://", "and 2 more"]),
        ("send shop.app:or|der key item;", ["**1 function**", "`async (item, user)`", "app.py#L25"]),
        ("scope shop.** except shop.au|dit;", ["**1 function left out**", "shop.audit:audit"]),
        ("scope shop.gon|e;", ["matches no function here"]),
        ("se|nd shop.app:order key item;", ["one thing causes another", "`each`"]),
        ("send shop.app:order ke|y item;", ["`key` says what identifies the object"]),
        ("send shop.app:order key i|tem;", ["`item`: a parameter of [shop.app:order]"]),
        ("send shop.app:* key it|em as x;", ["a parameter of 1 of the 2 functions"]),
        ("payload shop.app:order value l|en(item);", ["of builtin values"]),
        ("send shop.app:order key item as so|ld;\nreceive shop.audit:audit key item as sold;",
         ["channel `sold`: 1 × `send`, 1 × `receive`"]),
        ("entity Stock is shop.app:Sto|ck {\n when finish __init__() -> position(this);\n}", ["**4 methods**"]),
        ("entity Stock is shop.app:Stock {\n when finish look|up() -> position(this);\n}",
         ["when finish shop.app:Stock.lookup", "**1 function**"]),
    ],
)  # fmt: skip
async def test_a_hover_tells_what_is_meant(editor, open_spec, marked, parts):
    spec = open_spec(marked)
    answer = await editor.text_document_hover_async(types.HoverParams(**spec.at))
    assert [part for part in parts if part not in answer.contents.value] == [], answer.contents.value
    start, end = spec.spec.offset(answer.range.start), spec.spec.offset(answer.range.end)
    assert start <= spec.spec.offset(spec.position) <= end


async def test_where_there_is_nothing_to_say_no_hover_comes(editor, open_spec):
    for marked in ("scope shop.**|;  ", "// sc|ope\n", "budget |3%;"):
        spec = open_spec(marked + "|" if "|" not in marked else marked)
        answer = await editor.text_document_hover_async(types.HoverParams(**spec.at))
        assert answer is None or "scope" in answer.contents.value


# From patterns to functions and back


def places(locations):
    return [(location.uri.rpartition("/")[2], location.range.start.line + 1) for location in locations or ()]


def line_of(text):
    return APP.splitlines().index(text) + 1


async def test_the_definition_of_a_pattern_are_its_functions(editor, open_spec):
    spec = open_spec("scope shop.app:Stock.l|*, shop.audit;".replace("l|*", "l|ookup"))
    found = await editor.text_document_definition_async(types.DefinitionParams(**spec.at))
    assert places(found) == [("app.py", line_of("    def lookup(self, item, count=1):"))]


async def test_a_channel_leads_to_its_other_end_in_any_spec(editor, open_spec):
    open_spec("\nreceive shop.audit:audit key item as far;\n", "other.esl")
    spec = open_spec("send shop.app:order key item as f|ar;")
    found = await editor.text_document_definition_async(types.DefinitionParams(**spec.at))
    assert places(found) == [("other.esl", 2)]
    context = types.ReferenceContext(include_declaration=True)
    found = await editor.text_document_references_async(types.ReferenceParams(context, **spec.at))
    assert places(found) == [(spec.path.name, 1), ("other.esl", 2)]


@pytest.mark.parametrize(
    ("marked", "found"),
    [
        ('parameter part = "app";\nscope shop.$pa|rt;', [("{}", 1)]),
        ("include requests(ur|ls = True);", [("requests.esl", 2)]),
        ("include requ|ests;", [("requests.esl", 1)]),
        ("sco|pe shop.audit, shop.app:order;", [("audit.py", 1), ("app.py", 25)]),
        ("include stan|dard, threads;", [("standard.esl", 1)]),
        ("include thre|ads;", []),
    ],
)
async def test_words_lead_to_what_they_stand_for(editor, open_spec, marked, found):
    spec = open_spec(marked)
    told = await editor.text_document_definition_async(types.DefinitionParams(**spec.at))
    assert places(told) == [(name.format(spec.path.name), line) for name, line in found]


async def test_the_references_of_a_function_are_the_rules_that_name_it(editor, open_spec):
    open_spec("include standard;\nscope shop.**;\nrequest shop.app:order;\nscope shop.audit;\n", "rules.esl")
    before, after = APP.split("order(", 1)
    # Unsaved changes have moved it.
    source = open_spec("# moved\n" + before + "or|der(" + after, "shop/app.py")
    found = await editor.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(include_declaration=True), **source.at)
    )
    assert places(found) == [("rules.esl", 2), ("rules.esl", 3)]


# The outline, colours, folds, selections


async def test_the_outline_has_statements_and_what_is_in_them(editor, open_spec):
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


async def test_colours_are_what_words_mean(editor, open_spec):
    from clew.server.features.esl.tokens import MODIFIERS, TYPES

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


async def test_what_lies_on_several_lines_can_be_folded(editor, open_spec):
    spec = open_spec("// a\n// b\nlogs;\nentity A is m:A {\n    watch a is this.b;\n}\n\n/* x\ny */\nscope a,\n  b;\n")
    found = await editor.text_document_folding_range_async(types.FoldingRangeParams(spec.document))
    assert sorted((each.start_line, each.end_line, each.kind) for each in found) == [
        (0, 1, "comment"), (3, 4, None), (7, 8, "comment"), (9, 10, None),
    ]  # fmt: skip


async def test_a_selection_grows_from_the_word_to_the_text(editor, open_spec):
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


async def test_above_each_rule_stands_what_it_matches(editor, open_spec):
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


# Renaming


@pytest.mark.parametrize(
    ("marked", "new", "after"),
    [
        ("send a:f key x as o|ld;\nreceive a:g key x as old;\nrequest a:f as old;", "new",
         "send a:f key x as new;\nreceive a:g key x as new;\nrequest a:f as old;"),
        ("send a:f key x;\nreceive a:g key x as |f;", "new", "send a:f key x as new;\nreceive a:g key x as new;"),
        ('request a:f as "o|ld one" when x;', "new", "request a:f as new when x;"),
        ("request a:f as o|ld;", "new one", 'request a:f as "new one";'),
        ("level par|t = { desk: a };", "place", "level place = { desk: a };"),
        ('parameter pa|rt = "a";\nscope shop.$part.x, $partner decorated by $part.y;\npayload a:$part value ("$part", $part);',
         "piece", 'parameter piece = "a";\nscope shop.$piece.x, $partner decorated by $piece.y;\n'
                  'payload a:$piece value ("$part", $piece);'),
        ("parameter most = 3;\npayload a:f value x as most limit $most at most $mo|st/s;", "many",
         "parameter many = 3;\npayload a:f value x as most limit $many at most $many/s;"),
        ('parameter who = "A";\nlevel part = { $wh|o: a.b };\nsend a:f key x as $who; send a:g key x as who;', "name",
         'parameter name = "A";\nlevel part = { $name: a.b };\nsend a:f key x as $name; send a:g key x as who;'),
        ("entity O|ld is a:B { watch n is this.n; }\nentity Old is a:B { when start f() -> position(this, n); }", "New",
         "entity New is a:B { watch n is this.n; }\nentity New is a:B { when start f() -> position(this, n); }"),
        ("entity A is a:B { watch n|o is this.n; when start f(x) -> position(no, x); when start g(no) -> position(no); }",
         "at", "entity A is a:B { watch at is this.n; when start f(x) -> position(at, x); when start g(no) -> position(no); }"),
        ("send shop.app:order key (it|em, user) as a when len(item) > 1;\n"
         "use shop.** key item as b;\nuse shop.audit:audit key item;", "goods",
         "send shop.app:order key (goods, user) as a when len(goods) > 1;\nuse shop.** key goods as b;\n"
                  "use shop.audit:audit key item;"),
    ],
)  # fmt: skip
async def test_a_name_is_renamed_wherever_it_means_the_same(editor, open_spec, marked, new, after):
    spec = open_spec(marked)
    place = await editor.text_document_prepare_rename_async(types.PrepareRenameParams(**spec.at))
    assert spec.spec.offset(place.start) <= spec.spec.offset(spec.position) <= spec.spec.offset(place.end)
    answer = await editor.text_document_rename_async(types.RenameParams(new_name=new, **spec.at))
    assert spec.edited(answer.changes[spec.uri]) == after


async def test_other_specs_are_renamed_too(editor, open_spec):
    other = open_spec("// é\nreceive a:g key x as far;\n", "far.esl")
    spec = open_spec("send a:f key x as f|ar;")
    answer = await editor.text_document_rename_async(types.RenameParams(new_name="near", **spec.at))
    assert other.edited(answer.changes[other.uri]) == "// é\nreceive a:g key x as near;\n"


async def test_a_parameter_of_another_spec_is_another_one(editor, open_spec):
    other = open_spec('parameter part = "a";\nscope shop.$part;', "own.esl")
    spec = open_spec('parameter part = "a";\nscope shop.$pa|rt;')
    answer = await editor.text_document_rename_async(types.RenameParams(new_name="piece", **spec.at))
    assert set(answer.changes) == {spec.uri} and other.uri not in answer.changes


async def test_a_packs_parameter_is_renamed_where_the_pack_is_declared_and_included(editor, open_spec):
    from clew.esl.packs import path_of

    path = Path(path_of("requests"))
    pack = open_spec(path.read_text().replace("parameter ur", "parameter ur|", 1), path)
    using = open_spec('include requests(urls = True), urllib3(urls = False);\nredact "urls";', "using.esl")
    answer = await editor.text_document_rename_async(types.RenameParams(new_name="addresses", **pack.at))
    assert "urls = $addresses" in pack.edited(answer.changes[pack.uri])
    assert using.edited(answer.changes[using.uri]) == (
        'include requests(addresses = True), urllib3(urls = False);\nredact "urls";'
    )


@pytest.mark.parametrize(
    ("marked", "new", "words"),
    [
        ("include requests(ur|ls = True);", "links", "no spec of the workspace declares the parameter `urls`"),
        ("parameter a|b = 1;\nparameter c = 2;\nbudget $ab; sample $c;", "c", "there is a parameter `c` already"),
        ("parameter a|b = 1;", "b c", "cannot be the name of a parameter"),
        ("level par|t = { a: b };", "module", "a level that clew has itself"),
        ("level par|t = { a: b };", "a b", "cannot be the name of a level"),
        ("send a:f key x as o|ne;\nreceive a:g key x as two;", "two", "there is a channel `two` already"),
    ],
)
async def test_a_name_that_cannot_be_is_refused(editor, open_spec, marked, new, words):
    with pytest.raises(JsonRpcException) as caught:
        await editor.text_document_rename_async(types.RenameParams(new_name=new, **open_spec(marked).at))
    assert words in caught.value.message


# From Python files into specs


async def rules_offered(editor, source):
    found = await actions_of(editor, source)
    return {action.title: action.edit for action in found}


async def test_a_function_is_put_into_a_spec_by_an_action(editor, open_spec, workspace):
    source = open_spec(APP.replace("def mark_sold", "def mark|_sold"), "shop/app.py")
    target = workspace / "work-space-é.esl"
    offered = await rules_offered(editor, source)
    assert set(offered) == {
        "clew: trace this function", "clew: make this a request root", "clew: send here (key item)",
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


async def test_an_entity_is_made_from_a_class(editor, open_spec):
    source = open_spec(APP.replace("class Stock", "class St|ock"), "shop/app.py")
    offered = await rules_offered(editor, source)
    assert offered["clew: entity from this class"].document_changes[1].edits[0].new_text == (
        "include standard;\n\nentity Stock is shop.app:Stock {\n    when finish __init__() -> position(this);\n}\n"
    )
    elsewhere = open_spec(APP.replace("return item", "return| item"), "shop/app.py")
    assert await rules_offered(editor, elsewhere) == {}


async def test_a_rule_follows_source_that_is_not_saved(editor, open_spec):
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
