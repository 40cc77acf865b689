"""The command `clew`, from its words to its exit code: every mistake is one message, on stderr.

Invariants: a user's mistake never shows a traceback; answers go to stdout, everything else to stderr. What `clew run` does not
need is not loaded for it, click least of all: a recorded program would start that much later.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from clew.cli import run_words
from clew.cli.saying import ReaderIsGone, say
from clew.records.errors import ClewError

INTERRUPTED = 130
"""128 + SIGINT, what a shell expects of a command that Ctrl-C ended."""
BROKEN_PIPE = 141
"""128 + SIGPIPE, as a program written in C would end when its reader goes away."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """The console script: a process that does nothing else."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] != ["run"]:
        sys.exit(call(words))
    # A tenth of what it takes beside its program would go into looking through what it has loaded, and taking that down.
    gc.disable()
    os._exit(call(words))


def call(arguments: list[str]) -> int:
    """Runs a command line and returns its exit code; what went wrong is said on stderr."""
    try:
        code = _called(arguments)
        # None when we were started without one; the language server closes it at the client's wish.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        return code
    except ClewError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except (ReaderIsGone, BrokenPipeError):
        # The interpreter flushes stdout once more when it ends, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        named = isinstance(error, PermissionError) and isinstance(error.filename, str)
        whose = _whose(error.filename) if named else ""
        return _fail(f"{where}{error.strerror or error}{whose}", 2)
    except MemoryError:
        return _fail("out of memory; the run is too large for this machine", 2)


def _called(arguments: list[str]) -> int:
    options = run_words.read(arguments)
    if options is not None:
        from clew.cli.recording import record

        return record(options)
    from clew.cli.group import called

    return called(arguments)


def _whose(name: str) -> str:
    from clew.records.users import another_users

    found = another_users(name)
    if not found:
        return ""
    path, user = found
    way = f"ask as that user (`sudo -u {user} clew …`), or name another --workspace"
    return f"; {path} is user {user}'s, and runs are private: {way}"


def _fail(message: str, code: int) -> int:
    say(message)
    return code


if __name__ == "__main__":
    main()
