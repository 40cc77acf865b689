"""What an editor is told about `.esl` files: texts with a `|` where the cursor is, asked of the real server."""

import itertools
import sys

import pytest
import pytest_lsp
from lsprotocol import types
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
