"""Run a script or module again and write its value trace: `python -P -m clew.instrument.values.program REQUEST ARGUMENTS…`.

REQUEST is a `LookRequest`. ARGUMENTS are those of Python: a script, or `-m` and a
module, then the program's own. The program's output, exit code and exception are its own.
"""

from __future__ import annotations

import os
import runpy
import sys

from clew.instrument.values.look_request import LookRequest


def main(arguments: list[str]) -> None:
    request, words = LookRequest.load(arguments[0]), arguments[1:]
    recorder = request.recorder()
    is_module = words[0] == "-m"
    sys.argv = words[is_module:]
    sys.path.insert(0, os.getcwd() if is_module else os.path.dirname(os.path.abspath(words[0])))
    error: BaseException | None = None
    recorder.start()
    try:
        if is_module:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(os.path.abspath(words[0]), run_name="__main__")
    except BaseException as raised:
        error = raised
        raise
    finally:
        recorder.pause()
        recorder.stop(None if isinstance(error, SystemExit) else error)
        request.done("passed" if error is None else "failed")


if __name__ == "__main__":
    main(sys.argv[1:])
