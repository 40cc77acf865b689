"""Names in specs: from patterns to functions and back, references, and renaming."""

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.support.editor.open_spec import APP, line_of, places

pytestmark = pytest.mark.asyncio(loop_scope="module")


# From patterns to functions and back


async def test_spec_definition_of_pattern_is_its_functions(editor, open_spec):
    spec = open_spec("scope shop.app:Stock.l|*, shop.audit;".replace("l|*", "l|ookup"))
    found = await editor.text_document_definition_async(types.DefinitionParams(**spec.at))
    assert places(found) == [("app.py", line_of("    def lookup(self, item, count=1):"))]


async def test_spec_definition_of_channel_is_its_other_end_in_any_spec(editor, open_spec):
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
async def test_spec_definition_of_word_is_its_declaration(editor, open_spec, marked, found):
    spec = open_spec(marked)
    told = await editor.text_document_definition_async(types.DefinitionParams(**spec.at))
    assert places(told) == [(name.format(spec.path.name), line) for name, line in found]


async def test_python_references_of_function_include_the_rules_naming_it(editor, open_spec):
    open_spec("include standard;\nscope shop.**;\nrequest shop.app:order;\nscope shop.audit;\n", "rules.esl")
    before, after = APP.split("order(", 1)
    # Unsaved changes have moved it.
    source = open_spec("# moved\n" + before + "or|der(" + after, "shop/app.py")
    found = await editor.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(include_declaration=True), **source.at)
    )
    assert places(found) == [("rules.esl", 2), ("rules.esl", 3)]


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
async def test_spec_rename_changes_every_use_of_the_same_meaning(editor, open_spec, marked, new, after):
    spec = open_spec(marked)
    place = await editor.text_document_prepare_rename_async(types.PrepareRenameParams(**spec.at))
    assert spec.spec.offset(place.start) <= spec.spec.offset(spec.position) <= spec.spec.offset(place.end)
    answer = await editor.text_document_rename_async(types.RenameParams(new_name=new, **spec.at))
    assert spec.edited(answer.changes[spec.uri]) == after


async def test_spec_rename_of_channel_changes_other_specs(editor, open_spec):
    other = open_spec("// é\nreceive a:g key x as far;\n", "far.esl")
    spec = open_spec("send a:f key x as f|ar;")
    answer = await editor.text_document_rename_async(types.RenameParams(new_name="near", **spec.at))
    assert other.edited(answer.changes[other.uri]) == "// é\nreceive a:g key x as near;\n"


async def test_spec_rename_of_parameter_leaves_other_specs(editor, open_spec):
    other = open_spec('parameter part = "a";\nscope shop.$part;', "own.esl")
    spec = open_spec('parameter part = "a";\nscope shop.$pa|rt;')
    answer = await editor.text_document_rename_async(types.RenameParams(new_name="piece", **spec.at))
    assert set(answer.changes) == {spec.uri} and other.uri not in answer.changes


async def test_spec_rename_of_pack_parameter_changes_pack_and_includes(editor, open_spec):
    from clew.esl.packs.registry import path_of

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
        ("parameter a|b = 1;\nparameter c = 2;\nbudget $ab; sample $c;", "c", "a parameter named `c` already exists"),
        ("parameter a|b = 1;", "b c", "is not a valid name of a parameter"),
        ("level par|t = { a: b };", "module", "is a built-in level"),
        ("level par|t = { a: b };", "a b", "is not a valid name of a level"),
        ("send a:f key x as o|ne;\nreceive a:g key x as two;", "two", "a channel named `two` already exists"),
    ],
)
async def test_spec_rename_to_invalid_name_is_refused(editor, open_spec, marked, new, words):
    with pytest.raises(JsonRpcException) as caught:
        await editor.text_document_rename_async(types.RenameParams(new_name=new, **open_spec(marked).at))
    assert words in caught.value.message
