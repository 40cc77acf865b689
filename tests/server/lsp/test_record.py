"""Recording by the server's own commands, for editors without the extension, and the lenses that offer it."""

import asyncio
import sys

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

from clew.records.run.directory import RunInfo, list_runs
from tests.support.editor.lsp import begin, execute, lenses_of, make_client, open_file

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """\
import logging, sys, time
def work():
    logging.error("it went wrong")
if __name__ == "__main__":
    work()
    print("written by the program", flush=True)
    if sys.argv[1:] == ["forever"]:
        time.sleep(600)
    sys.exit(3)
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("record") / "work space"
    (folder / ".clew" / "runs").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text("import app\n\ndef test_works():\n    app.work()\n")
    return folder


def choosing_client():
    """Return a client that chooses app.py whenever it is asked."""
    client = make_client()

    @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
    def _(params):
        client.asked = [action.title for action in params.actions]
        return next(action for action in params.actions if action.title.startswith("app.py"))

    return client


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=choosing_client),
    loop_scope="module",
)
async def client(lsp_client: LanguageClient, workspace):
    await begin(lsp_client, workspace, panel=False)
    yield
    await lsp_client.shutdown_session()


async def message_with(client, text):
    """Return the first message that contains the text."""
    for _ in range(1200):
        for message in client.messages:
            if text in message.message:
                return message.message
        await asyncio.sleep(0.1)
    raise AssertionError([message.message for message in client.messages])


async def record_lenses(client, path):
    uri = open_file(client, path)
    lenses = await lenses_of(client, uri)
    return [(lens.range.start.line + 1, lens.command) for lens in lenses if lens.command]


async def test_record_lens_records_a_program_or_a_test(client, workspace):
    ((line, found),) = await record_lenses(client, workspace / "app.py")
    assert (line, found.title, found.command) == (4, "record", "clew.record")
    ((line, found),) = await record_lenses(client, workspace / "test_app.py")
    assert line == 3
    client.messages.clear()
    await execute(client, found.command, *found.arguments)
    message = await message_with(client, "test_works ended")
    assert "ended with exit code 0 as " in message
    (_, info), *_ = list_runs(workspace)
    assert isinstance(info, RunInfo) and info.tests


async def test_record_command_asks_for_the_program_and_shows_failed_output(client, workspace):
    client.messages.clear()
    await execute(client, "clew.record", {"path": str(workspace / "app.py")})
    message = await message_with(client, "app.py ended with exit code 3 as ")
    output = workspace / ".clew" / "output"
    assert any(str(path) in message for path in output.iterdir())
    assert client.asked[0].startswith("app.py: python app.py")
    for _ in range(1200):
        if client.shown_documents:
            break
        await asyncio.sleep(0.1)
    (shown,) = client.shown_documents
    assert shown.uri == max(output.iterdir()).as_uri()
    assert "written by the program" in max(output.iterdir()).read_text()


async def test_stop_recording_command_ends_a_running_program(client, workspace):
    client.messages.clear()
    await execute(client, "clew.record", {"command": "python app.py forever"})
    for _ in range(1200):
        written = max((workspace / ".clew/output").glob("*forever*"), default=None)
        if written is not None and "written by the program" in written.read_text():
            break
        await asyncio.sleep(0.1)
    await execute(client, "clew.stopRecording")
    assert "exit code 130" in await message_with(client, "python app.py forever ended")
    (_, info), *_ = list_runs(workspace)
    assert info.finished and info.exit_code == 130
    client.messages.clear()
    await execute(client, "clew.stopRecording")
    assert "no recording is running" in client.messages[-1].message
    await execute(client, "clew.record", {"command": "python 'app.py"})
    assert "check its quotes" in client.messages[-1].message
    await execute(client, "clew.record", {"kind": 3})
    assert "params.kind" in client.messages[-1].message
