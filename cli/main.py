"""Run the command `clew`, from its arguments to its exit code. Every error becomes one message on stderr.

Invariants: a user's mistake never shows a traceback. Answers go to stdout, everything else to stderr. `clew run` loads
only the modules that it needs, and never click, because every import delays the recorded program.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from clew.cli.output.stderr import ReaderIsGone, say
from clew.cli.recording import fast_arguments
from clew.records.errors import ClewError
from clew.records.extensions import ANALYSIS, RECORDING, missing

INTERRUPTED = 130
"""128 + SIGINT, the exit code that shells expect after Ctrl-C."""
_NEEDED = {"run": RECORDING, "lsp": RECORDING + ANALYSIS, "view": RECORDING + ANALYSIS, "relay": RECORDING + ANALYSIS}
"""C extensions that are checked before these commands start. Other commands report a missing one when they import it."""
BROKEN_PIPE = 141
"""128 + SIGPIPE, the exit code of a C program whose reader goes away."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run as the console script, in a process that does nothing else."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] != ["run"]:
        sys.exit(call(words))
    # Garbage collection and interpreter shutdown would take a tenth of the time that `clew run` adds to its program.
    gc.disable()
    os._exit(call(words))


def call(arguments: list[str]) -> int:
    """Run a command line and return its exit code; errors are printed on stderr."""
    if arguments and (absent := missing(_NEEDED.get(arguments[0], ()))):
        return _fail(absent, 1)
    try:
        code = _called(arguments)
        # stdout is None when the process started without it, and closed when the LSP client asked for that.
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        return code
    except ClewError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except (ReaderIsGone, BrokenPipeError):
        # The interpreter flushes stdout once more at exit and would report an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        named = isinstance(error, PermissionError) and isinstance(error.filename, str)
        whose = _whose(error.filename) if named else ""
        return _fail(f"{where}{error.strerror or error}{whose}", 2)
    except ImportError as error:
        if absent := missing():
            return _fail(absent, 1)
        raise error
    except MemoryError:
        return _fail("out of memory; the run is too large for this machine", 2)


def _called(arguments: list[str]) -> int:
    options = fast_arguments.read(arguments)
    if options is not None:
        from clew.cli.recording.record import record

        return record(options)
    from clew.cli.app import called

    return called(arguments)


def _whose(name: str) -> str:
    from clew.records.run.ownership import another_users

    found = another_users(name)
    if not found:
        return ""
    path, user = found
    way = f"run clew as that user (`sudo -u {user} clew …`), or use another --workspace"
    return f"; {path} belongs to user {user}, and runs are private: {way}"


def _fail(message: str, code: int) -> int:
    say(message)
    return code


if __name__ == "__main__":
    main()
