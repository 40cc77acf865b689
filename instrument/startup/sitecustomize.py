"""Start recording in every Python process of a run, then run the program's own sitecustomize.

Invariant: the program finds the same `sys.path`, `sys.modules` and sitecustomize as without clew. Only PYTHONPATH keeps
this folder, for child processes. This file works without an installed clew.
"""

import os
import sys


def _leave_path() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if not entry or os.path.abspath(entry) != here]
    sys.path_importer_cache.pop(here, None)


def _start() -> None:
    """Start recording with the garbage collector disabled: it would scan the long-lived objects made here repeatedly."""
    import gc

    collecting = gc.isenabled()
    gc.disable()
    try:
        _start_recording()
    finally:
        if collecting:
            gc.enable()


def _start_recording() -> None:
    run = os.environ.get("CLEW_RUN", "")
    if not run and os.environ.get("CLEW_CONTROL", "0") in ("", "0"):
        return
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        what = f"{sys.executable} runs without the GIL, which recording relies on, so it is not recorded"
        _say_once(run, "without-gil", f"{what}; PYTHON_GIL=1 in the environment switches it on")
        return
    if not _in_main_interpreter():
        _say_once(
            run, f"subinterpreters-{os.getpid()}", f"code in subinterpreters of process {os.getpid()} is not recorded"
        )
        return
    try:
        from clew.instrument.bootstrap import start_from_environment
    except Exception as error:  # a broken installation can raise any exception
        missing = isinstance(error, ImportError) and error.name == "clew"
        problem = "clew is not installed for" if missing else f"clew cannot be imported ({error}) by"
        # One line for each interpreter, however many children it has.
        name = "".join(letter if letter.isalnum() else "_" for letter in sys.executable)[-100:]
        python = sys.executable
        _say_once(run, name, f"{problem} {python}, so it is not recorded; {python} -m pip install clew")
        return
    start_from_environment()


def _hide() -> None:
    """Restore the environment that the parent process passed explicitly, without the variables that clew added to it."""
    how = os.environ.pop("CLEW_HIDE", "")
    if not how:
        return
    for name in ("CLEW_RUN", "CLEW_CAUSE"):
        os.environ.pop(name, None)
    paths = os.environ.pop("PYTHONPATH", "")
    if how == "kept":
        os.environ["PYTHONPATH"] = paths.partition(os.pathsep)[2]


def _in_main_interpreter() -> bool:
    """Return whether this is the main interpreter, the only one that the recorder and the adapters support."""
    import _signal  # type: ignore[import-not-found]  # the C part of `signal`, missing in typeshed

    try:
        _signal.set_wakeup_fd(_signal.set_wakeup_fd(-1))  # only the main interpreter may set it
    except ValueError:
        return False
    return True


def _say_once(run: str, what: str, text: str) -> None:
    if not run:  # no recording was requested yet
        return
    try:
        os.close(os.open(os.path.join(run, f"untraced-{what}"), os.O_CREAT | os.O_EXCL, 0o600))
        if "CLEW_HIDE" not in os.environ:
            os.write(2, f"clew: {text}\n".encode())
    except OSError:
        return


def _run_next() -> None:
    """Run the program's own sitecustomize; if there is none, make the import system report it as missing."""
    import importlib.util

    spec = None
    for finder in sys.meta_path:
        spec = finder.find_spec("sitecustomize", None)
        if spec is not None:
            break
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'sitecustomize'", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_leave_path()
try:
    _start()
finally:
    _hide()
_run_next()
