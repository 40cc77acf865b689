"""Run a command in the foreground: forward each signal of this process once, and return the command's exit code.

Invariant: a signal that the kernel or another process sent to our whole process group, which includes the command, is
not sent to the command again. A signal does not show whether it was sent to us or to the group. A *witness* process
detects this: it belongs to the same group, blocks these signals and does nothing, so a signal to the group is also
pending there.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

LOOK_SECONDS = 0.1
LATE_SECONDS = 0.005
"""Maximum delay after us until another process of the group receives a signal to the group."""
_FORWARDED = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]
_IGNORED_HERE = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]
"""Signals that the Python interpreter ignores for itself."""


def launch(command: list[str], env: dict[str, str], look: Callable[[], bool] = lambda: False) -> int:
    """Run a command to its end and forward signals to it. Return its exit code, or 128 + N when signal N killed it.

    `look` is called periodically as long as it returns True. Raises `OSError` when the command cannot be started.
    """
    if not hasattr(signal, "sigwaitinfo") or not hasattr(os, "posix_spawnp"):
        return _shell_code(_wait_with_handlers(command, env))
    watched = {*_FORWARDED, signal.SIGCHLD}
    # Block the signals before the start, so that none is lost. The program gets our original mask and descriptors.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        pid = os.posix_spawnp(command[0], command, env, setsigmask=before, setsigdef=_IGNORED_HERE)
        # The witness forks last and is signalled first: the kernel walks a group from its newest member.
        witness = _Witness()
        try:
            code = _wait_with_signals(pid, watched, witness, look)
        finally:
            witness.leave()
        # Discard signals for the finished program; they must not end this process.
        while signal.sigtimedwait(watched, 0):
            pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return _shell_code(code)


def _shell_code(code: int) -> int:
    return code if code >= 0 else 128 - code


def _wait_with_signals(pid: int, watched: set[int], witness: _Witness, look: Callable[[], bool]) -> int:
    looking = True
    while (ended := os.waitpid(pid, os.WNOHANG))[0] != pid:
        looking = looking and look()
        found = signal.sigtimedwait(watched, LOOK_SECONDS) if looking else signal.sigwaitinfo(watched)
        if found is None or found.si_signo == signal.SIGCHLD:
            continue
        to_the_group = witness.got(found.si_signo)
        # A key on the terminal always signals the group, through the kernel.
        if not to_the_group and found.si_code <= 0:
            os.kill(pid, found.si_signo)
    return os.waitstatus_to_exitcode(ended[1])


class _Witness:
    """A forked child that blocks all signals and reports on request which it received. It exits with its parent."""

    def __init__(self) -> None:
        self._pid = 0
        try:
            asked, self._ask = os.pipe()
            self._replies, reply = os.pipe()
            self._pid = os.fork()
        except OSError:  # without a witness, signals of others count as sent to us alone
            return
        if self._pid == 0:
            _run_witness(asked, reply)
        os.close(asked)
        os.close(reply)

    def got(self, number: int) -> bool:
        """Return whether this signal was sent to the group since the last call."""
        if not self._pid:
            return False
        try:
            os.write(self._ask, bytes([number]))
            return os.read(self._replies, 1) == b"\1"
        except OSError:  # the witness was killed
            return False

    def leave(self) -> None:
        if self._pid:
            os.close(self._ask)
            os.close(self._replies)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _run_witness(asked: int, reply: int) -> None:
    """Run the witness. It holds no file but the two pipes, so that no reader waits for its output."""
    import fcntl  # available on every system with fork

    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        # Use descriptors above the standard ones, in case those were closed.
        asked, reply = (fcntl.fcntl(file, fcntl.F_DUPFD, 3) for file in (asked, reply))
        null = os.open(os.devnull, os.O_RDWR)
        for file in range(3):
            os.dup2(null, file)
        low, high = sorted((asked, reply))
        for first, end in ((3, low), (low + 1, high), (high + 1, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(first, end)
        while number := os.read(asked, 1):
            os.write(reply, b"\1" if signal.sigtimedwait([number[0]], LATE_SECONDS) else b"\0")
    finally:
        os._exit(0)


def _wait_with_handlers(command: list[str], env: dict[str, str]) -> int:
    import subprocess  # not available on other systems

    program = subprocess.Popen(command, env=env)
    for number in _FORWARDED:
        signal.signal(number, lambda got, _frame: None if got == signal.SIGINT else program.send_signal(got))
    return program.wait()
