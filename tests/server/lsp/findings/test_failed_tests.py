"""Failed tests of a session in the editor: diagnostics, hovers and code actions at the lines that failed."""

import asyncio
import shutil

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient

from tests.support.editor.lsp import SERVER, ask, begin, change, close, document, execute, hover, open_file
from tests.support.programs.failing_shop import SHOP, line_of
from tests.support.programs.failing_shop import TESTS as SHOP_TESTS
from tests.support.programs.pytest_sessions import run

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATIENCE = 60

TESTS = f"""{SHOP_TESTS}
@pytest.mark.parametrize("price", [-1, -2])
def test_add(price):
    Cart().add(price)
"""


FAILED, ADDED, RAISED = (
    line_of(TESTS, "total() >= 0"),
    line_of(TESTS, "Cart().add(price)"),
    line_of(SHOP, "raise ValueError"),
)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """Return a project whose newest session failed."""
    folder = tmp_path_factory.mktemp("failing") / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "pytest.ini").write_text(
        "[pytest]\naddopts = -p no:cacheprovider\nasyncio_default_fixture_loop_scope = function\n"
    )
    assert "3 failed, 1 passed" in run(folder, "--clew").stdout
    return folder


@pytest_lsp.fixture(config=SERVER, scope="module", loop_scope="module")
async def editor(lsp_client: LanguageClient, failing):
    await begin(lsp_client, failing)
    yield
    await lsp_client.shutdown_session()


async def until(condition):
    """Wait until the server's background work fulfils the condition."""
    async with asyncio.timeout(PATIENCE):
        while not (result := condition()):
            await asyncio.sleep(0.05)
    return result


def failures(client, uri):
    return [one for one in client.diagnostics.get(uri, []) if one.code == "failed-test"]


async def actions(client, uri, line, only=None):
    place = types.Position(line - 1, 4)
    found = await client.text_document_code_action_async(
        types.CodeActionParams(document(uri), types.Range(place, place), types.CodeActionContext([], only=only))
    )
    return {one.title: one for one in found or [] if "fail" in one.title}


async def test_failed_lines_have_diagnostics_with_suspects(editor, failing):
    uri = open_file(editor, failing / "test_shop.py")
    found = {one.range.start.line + 1: one for one in await until(lambda: failures(editor, uri))}
    assert list(found) == [FAILED, ADDED]
    assert found[FAILED].message.startswith("test_discount failed: AssertionError: assert -10 >= 0")
    assert "\nSuspects: Cart.apply_coupon (shop.py:11)" in found[FAILED].message
    assert "test_add[-1] failed: ValueError: negative -1 (and 1 more test at this line)" in found[ADDED].message
    assert (found[FAILED].range.start.character, found[FAILED].range.end.character) == (4, 28)
    close(editor, uri)


async def test_hover_on_failed_lines_shows_suspects(editor, failing):
    uri = open_file(editor, failing / "test_shop.py")
    await until(lambda: failures(editor, uri))
    text = await hover(editor, uri, FAILED)
    assert "test\\_discount failed" in text and "1. `Cart.apply_coupon`" in text and "How sure: " in text
    assert "[Why did this test fail?](command:clew.openSlice?" in text
    raised = open_file(editor, failing / "shop.py")
    assert "ValueError raised here" in await hover(editor, raised, RAISED)
    close(editor, raised)
    close(editor, uri)


async def test_code_action_on_failed_lines_asks_about_the_test(editor, failing):
    uri = open_file(editor, failing / "test_shop.py")
    await until(lambda: failures(editor, uri))
    ((title, action),) = (await actions(editor, uri, FAILED)).items()
    assert title == "clew: Why did this test fail?" and action.command == "clew.openSlice"
    answer = await ask(editor, "clew/slice", action.arguments[0])
    assert answer["verdict"]["failedTest"]["suspects"][0]["function"] == "shop:Cart.apply_coupon"
    assert set(await actions(editor, uri, ADDED)) == {f"clew: Why did test_add[{price}] fail?" for price in (-1, -2)}
    assert await actions(editor, uri, FAILED - 1) == {}
    assert await actions(editor, uri, FAILED, only=[types.CodeActionKind.RefactorRewrite]) == {}
    close(editor, uri)


async def test_edit_removes_diagnostics_and_moves_the_actions(editor, failing):
    uri = open_file(editor, failing / "test_shop.py")
    await until(lambda: failures(editor, uri))
    change(editor, uri, f"# new\n{TESTS}")
    await until(lambda: not failures(editor, uri))
    assert await actions(editor, uri, FAILED + 1) and not await actions(editor, uri, FAILED)
    change(editor, uri, TESTS.replace("total() >= 0", "total() >= -10"), 3)
    assert await actions(editor, uri, FAILED) == {}
    change(editor, uri, TESTS, 4)
    await until(lambda: failures(editor, uri))
    close(editor, uri)


async def test_next_session_that_passes_removes_diagnostics(editor, failing, tmp_path):
    uri = open_file(editor, failing / "test_shop.py")
    await until(lambda: failures(editor, uri))
    editor.set_configuration({"clew": {"tests": {"failures": False}}})
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await until(lambda: not failures(editor, uri))
    editor.set_configuration({"clew": {}})
    editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    await until(lambda: failures(editor, uri))
    assert "1 passed" in run(failing, "--clew", "-k", "test_sum").stdout
    await until(lambda: not failures(editor, uri))
    for folder in sorted((failing / ".clew" / "runs").iterdir())[1:]:
        shutil.rmtree(folder)
    await until(lambda: failures(editor, uri))
    close(editor, uri)


async def test_plain_editor_shows_suspects_in_a_message(failing):
    client = SERVER.client_factory()
    await client.start_io(*SERVER.server_command)
    await begin(client, failing, panel=False)
    message = await execute(client, "clew.openSlice", {"target": {"test": "test_discount"}})
    assert "test_shop.py::test_discount failed: AssertionError" in message
    assert "1  Cart.apply_coupon" in message and "How sure: the exception is recorded" in message
    await client.shutdown_session()
