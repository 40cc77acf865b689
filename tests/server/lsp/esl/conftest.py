"""Fixtures: an editor on a small workspace, and specs opened in it."""

import sys

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from tests.support.editor.open_spec import APP, Opened


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


@pytest.fixture
def open_spec(editor, workspace):
    opened = []

    def make(marked, name=""):
        opened.append(Opened(editor, workspace, marked, name))
        return opened[-1]

    yield make
    for one in opened:
        editor.text_document_did_close(types.DidCloseTextDocumentParams(one.document))
