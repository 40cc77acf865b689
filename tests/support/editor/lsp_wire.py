"""A client that can misbehave: plain JSON-RPC over the pipes of a real `clew lsp`."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any


class Wire:
    def __init__(self, workspace: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clew", "lsp"], cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip
        self.answers: dict[object, Queue[dict[str, Any]]] = {}
        self.errors: list[str] = []
        self._numbers = itertools.count(1)
        self._writing = threading.Lock()
        for target in (self._read, self._listen):
            threading.Thread(target=target, daemon=True).start()

    def start(self, workspace: Path, *others: Path) -> dict[str, Any]:
        """Start the server, with `others` for a workspace of several folders."""
        folders = [{"uri": one.as_uri(), "name": one.name} for one in (workspace, *others)] if others else None
        params = {"processId": None, "rootUri": workspace.as_uri(), "workspaceFolders": folders, "capabilities": {}}
        answer = self.ask("initialize", params)
        self.tell("initialized", {})
        return answer

    def send(self, message: dict[str, Any]) -> None:
        self.raw(json.dumps(message).encode())

    def raw(self, body: bytes) -> None:
        assert self.process.stdin
        with self._writing:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()

    def begin(self, method: str, params: Any) -> int:
        number = next(self._numbers)
        self.answers[number] = Queue()
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def end(self, number: int, timeout: float = 60) -> dict[str, Any]:
        """Wait for the answer, and return it with its result or error."""
        return self.answers[number].get(timeout=timeout)

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        return self.end(self.begin(method, params))

    def tell(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self, uri: str, language: str, text: str) -> str:
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})
        return uri

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1e3

    def _read(self) -> None:
        pipe = self.process.stdout
        assert pipe
        while line := pipe.readline():
            while pipe.readline().strip():
                pass
            message = json.loads(pipe.read(int(line.split(b":")[1])))
            if "method" in message and "id" in message:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
            elif "id" in message and message["id"] in self.answers:
                self.answers[message["id"]].put(message)

    def _listen(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.errors.append(line.decode())
