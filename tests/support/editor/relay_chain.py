"""A chain of relays, each with its own workspace, each forwarding runs to the next relay."""

import os
import signal
import subprocess
import sys
import time

from clew.server.relay.launch import running


class Chain:
    def __init__(self, folder, count, *, otlp=False, tls=None):
        """Start `count` relays; with `otlp` the first accepts OTLP; `tls` is the key and certificate of all."""
        self.workspaces = [folder / str(number) for number in range(count)]
        self._otlp, self.tls = otlp, tls
        self._tokens = []
        for workspace in self.workspaces:
            workspace.mkdir()
            token = workspace / "token"
            token.write_text(f"{workspace.name}-a-token-of-some-length\n")
            token.chmod(0o600)
            self._tokens.append(token)
        self.ports = [0] * count
        self.processes = [None] * count
        self.otlp = ""
        """The OTLP address of the first relay once it is known; its successors use the same address."""
        for number in reversed(range(count)):
            self.start(number)

    def token(self, number):
        return self._tokens[number].read_text().strip()

    def start(self, number):
        words = ["relay", "--workspace", self.workspaces[number], "--token-file", self._tokens[number], "--json"]
        words += ["--port", self.ports[number], "--grace", 300]
        if self._otlp and not number:
            words += ["--otlp", self.otlp.rpartition(":")[2] or 0]
        if self.tls:
            words += ["--host", "localhost", "--key", self.tls[0], "--cert", self.tls[1]]
        if number + 1 < len(self.workspaces):
            to = f"wss://localhost:{self.ports[number + 1]}" if self.tls else f"ws://127.0.0.1:{self.ports[number + 1]}"
            words += ["--to", to, "--to-token-file", self._tokens[number + 1]]
            words += ["--to-cert", self.tls[1]] if self.tls else []
        said = self.workspaces[number] / "said"
        with said.open("ab") as file:
            self.processes[number] = subprocess.Popen(
                [sys.executable, "-m", "clew", *map(str, words)], stdout=file, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + 60
        while (there := running(self.workspaces[number])) is None or there.pid != self.processes[number].pid:
            assert self.processes[number].poll() is None and time.monotonic() < deadline, said.read_text()
            time.sleep(0.02)
        self.ports[number] = int(there.url.rpartition(":")[2])
        while self._otlp and not number and not self.otlp:
            told = [line for line in said.read_text().splitlines() if '"otlp"' in line]
            self.otlp = told[0].split('"')[3] if told else ""

    def kill(self, number):
        self.stop(number)
        self.start(number)

    def stop(self, number):
        """Stop a relay like a machine that is switched off."""
        self.processes[number].kill()
        self.processes[number].wait()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(timeout=300)

    def said(self, number):
        """Return the output of a relay without the lines with its token."""
        lines = (self.workspaces[number] / "said").read_text().splitlines()
        return os.linesep.join(line for line in lines if '"token"' not in line)
