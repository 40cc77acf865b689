"""An editor for tests: pytest-lsp's client of a real `clew lsp`, and the actions of a user.

Invariant: all tests over the protocol start their sessions here, except tests of clients that make errors (`lsp_wire`).
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

LANGUAGES = {".py": "python", ".esl": "esl", ".log": "log"}


def make_client() -> Any:
    """Return a client that stores the server's notifications; `changed` is set whenever lenses must be requested again."""
    client: Any = make_test_lsp_client()
    client.runs_changed, client.changed = asyncio.Event(), asyncio.Event()
    client.refreshed = 0

    @client.feature("clew/runsChanged")
    def runs_changed(_params: Any) -> None:
        client.runs_changed.set()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        client.registered = [one.method for one in params.registrations]

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def refresh_hints(_params: Any) -> None:
        client.changed.set()

    @client.feature(types.WORKSPACE_CODE_LENS_REFRESH)
    def refresh_lenses(_params: Any) -> None:
        client.refreshed += 1
        client.changed.set()

    return client


SERVER = ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=make_client)


async def begin(client: Any, folder: Path, *, panel: bool = True, capabilities: Any = None) -> None:
    """Start a session of VS Code with the extension, or of Neovim without `panel`; `offered` lists the server's commands."""
    result = await client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities or client_capabilities("visual-studio-code" if panel else "neovim"),
            workspace_folders=[types.WorkspaceFolder(uri=folder.as_uri(), name="w")],
            initialization_options={"panel": True} if panel else None,
        )
    )
    client.offered = list(result.capabilities.execute_command_provider.commands)


async def ask(client: LanguageClient, method: str, params: object = None) -> Any:
    """Send a request and return the result as plain data."""
    return _plain(await client.protocol.send_request_async(method, params))


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


async def execute(client: LanguageClient, command: str, *arguments: object) -> str:
    """Execute a command and return the text of the last message."""
    await client.workspace_execute_command_async(types.ExecuteCommandParams(command, list(arguments)))
    return client.messages[-1].message if client.messages else ""


def document(uri: str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(uri)


def open_file(client: LanguageClient, path: Path, text: str | None = None, version: int = 1) -> str:
    """Open a file, with another text if given."""
    shown = path.read_text() if text is None else text
    item = types.TextDocumentItem(path.as_uri(), LANGUAGES.get(path.suffix, "plaintext"), version, shown)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return item.uri


def close(client: LanguageClient, uri: str) -> None:
    client.text_document_did_close(types.DidCloseTextDocumentParams(document(uri)))


def change(client: LanguageClient, uri: str, text: str, version: int = 2) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version=version, uri=uri),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
    )


async def lenses_of(client: LanguageClient, uri: str) -> list[types.CodeLens]:
    return list(await client.text_document_code_lens_async(types.CodeLensParams(document(uri))) or [])


async def figures_of(client: LanguageClient, uri: str) -> list[tuple[int, str, str, Any]]:
    """Return (line from 1, title, command, argument) of every resolved lens with statistics."""
    found = await lenses_of(client, uri)
    found = [lens for lens in found if lens.command is None or lens.command.command != "clew.record"]
    assert all(lens.command is None for lens in found)
    resolved = [await client.code_lens_resolve_async(lens) for lens in found if not is_walk(lens)]
    return [
        (lens.range.start.line + 1, lens.command.title, lens.command.command, (lens.command.arguments or [None])[0])
        for lens in resolved
        if lens.command
    ]


def is_walk(lens: types.CodeLens) -> bool:
    """Return whether the lens starts a walk at a line of a log."""
    return bool(isinstance(lens.data, dict) and lens.data.get("walk"))


async def hover(client: LanguageClient, uri: str, line: int, character: int = 5) -> str:
    """Return the text of the hover at a line (from 1)."""
    found = await client.text_document_hover_async(
        types.HoverParams(document(uri), types.Position(line - 1, character))
    )
    if not found:
        return ""
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value
