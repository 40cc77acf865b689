"""The question why a value is what it is, asked in the editor and answered by a second look at a test."""

import asyncio

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.support.editor.lsp import SERVER, ask, begin, close, document, open_file
from tests.support.programs.failing_shop import SHOP, TESTS, line_of
from tests.support.programs.pytest_sessions import run

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATIENCE = 60


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Return a project whose newest session failed."""
    folder = tmp_path_factory.mktemp("values") / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    # A second look finds pytest's plugins by itself, as in a usual session.
    session = run(folder, "--clew", plugins=[], env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""})
    assert "1 failed, 1 passed" in session.stdout
    return folder


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def editor(lsp_client: LanguageClient, failing):
    await begin(lsp_client, failing)
    yield
    await lsp_client.shutdown_session()


async def value_actions(client, uri, line, character):
    place = types.Position(line - 1, character)
    found = await client.text_document_code_action_async(
        types.CodeActionParams(document(uri), types.Range(place, place), types.CodeActionContext([]))
    )
    return [one for one in found or [] if isinstance(one, types.Command) and one.command == "clew.openValue"]


async def test_value_of_an_attribute_is_explained_by_the_failed_test(editor, failing):
    uri = open_file(editor, failing / "shop.py")
    line = line_of(SHOP, "return sum")
    column = SHOP.splitlines()[line - 1].index("discount")

    async def offered():
        async with asyncio.timeout(PATIENCE):
            while not (found := await value_actions(editor, uri, line, column)):
                await asyncio.sleep(0.1)
        return found

    (asked,) = await offered()
    assert asked.title == "clew: Why this value: self.discount? (runs test_discount again)"
    (params,) = asked.arguments
    plan = await ask(editor, "clew/value", {**params, "isLook": False})
    assert plan["test"].endswith("test_discount") and plan["tookNs"] > 0 and plan["answer"] is None
    assert any(test.endswith("test_sum") for test in plan["tests"])
    found = await ask(editor, "clew/value", params)
    assert not found["message"]
    steps = found["answer"]["steps"]
    assert any("apply_coupon(percent=110)" in step["text"] or "apply_coupon(110)" in step["text"] for step in steps)
    assert any(step["source"] == "self.discount += percent" for step in steps)
    assert [one["title"] for one in found["failed"]["suspects"]][:1] == ["Cart.apply_coupon"]
    unknown = await ask(editor, "clew/value", {**params, "expression": "nothing"})
    assert unknown["answer"] is None and "has no value 'nothing'" in unknown["message"]
    close(editor, uri)


async def test_failure_is_explained_by_lines_of_similar_tests_after_its_estimate(editor, failing):
    plan = await ask(editor, "clew/value", {"isLook": False})
    assert plan["test"].endswith("test_discount") and plan["expectedNs"] > 0 and plan["similar"] == 1
    found = await ask(editor, "clew/value", {"test": plan["test"]})
    assert found["answer"]["steps"][0]["source"] == "assert cart.total() >= 0"
    assert "self.discount += percent" in [line["source"] for line in found["failed"]["lines"]]


async def test_value_of_an_unsaved_file_is_not_followed(editor, failing):
    uri = open_file(editor, failing / "shop.py", text=f"# edited\n{SHOP}")
    place = {"path": str(failing / "shop.py"), "line": line_of(SHOP, "return sum") + 1}
    found = await ask(editor, "clew/value", {"expression": "self.discount", "location": place})
    assert found["answer"] is None and "unsaved changes" in found["message"]
    close(editor, uri)
