"""Names processes so that every recording of a program has the same names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from clew.graph.model.processes.program_words import program_words

WORDS = 2
"""The maximum number of words of the command line in a process's name."""


_WORKER = "worker"
_ROLES = {
    "from multiprocessing.spawn ": _WORKER,
    "from multiprocessing.forkserver ": "fork server",
    "import sys;exec(eval(sys.stdin.readline()))": _WORKER,
}
"""The roles of multiprocessing and execnet processes by the beginning of their `-c` code, which does not name the program."""
_FORKING = ("gunicorn", "celery")
"""The programs that fork workers, which have the same command line."""
_WITH_GATEWAYS = ("pytest", "py.test")
"""The programs whose execnet workers are named gw0, gw1, … by pytest-xdist, in the order of their start."""


def process_names(commands: Sequence[Sequence[str]], parents: Sequence[int] = ()) -> list[str]:
    """Return a short name per process from the command lines, in the order of start. `parents` are indices, -1 for none.

    The name is the module or script. If several processes run it, the first words of the command line replace the name where
    they differ, else they follow it. A multiprocessing worker is named after its parent's program; workers of pytest-xdist and
    gunicorn have their usual numbers. Equal names are numbered.
    """
    programs = [_program(argv) for argv in commands]
    parents = parents or [-1] * len(commands)
    roles = [_role(argv) or _forked_role(number, commands, programs, parents) for number, argv in enumerate(commands)]
    numbered = _numbered_workers(programs, roles, parents)
    shown = _distinguishing_words(commands, programs, roles)
    words_of: dict[str, list[str]] = {}
    for words, program, role in zip(shown, programs, roles, strict=True):
        if not role:
            words_of.setdefault(program, []).append(words)
    short = []
    for number, (words, program) in enumerate(zip(shown, programs, strict=True)):
        if number in numbered:
            short.append(numbered[number])
            continue
        if roles[number]:
            short.append(_as_worker(number, programs, roles, parents))
            continue
        count = len(words_of[program])
        if count == 1 or not words:
            short.append(program)
        else:
            # A forked child has its parent's command line, so its words do not identify it.
            short.append(words if len(set(words_of[program])) > 1 else f"{program} {words}")
    # Different programs may be started with the same words.
    sharing = {
        name: {program for other, program in zip(short, programs, strict=True) if other == name} for name in short
    }
    names = [
        name if len(sharing[name]) == 1 or name.startswith(program) else f"{program} {name}"
        for name, program in zip(short, programs, strict=True)
    ]
    counts = Counter(names)
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return result


def _distinguishing_words(
    commands: Sequence[Sequence[str]], programs: Sequence[str], roles: Sequence[str]
) -> list[str]:
    """Return the first words of each process's command line.

    After the first word that differs between the program's processes, words that all of them have are omitted: they add nothing
    and often differ between runs (such as a folder that all were given).
    """
    of: dict[str, list[list[str]]] = {}
    for argv, program, role in zip(commands, programs, roles, strict=True):
        if not role:
            of.setdefault(program, []).append(_words(argv))
    common = {program: set[str].intersection(*map(set, several)) for program, several in of.items()}
    found = []
    for argv, program in zip(commands, programs, strict=True):
        words, shared = _words(argv), common.get(program, set())
        differing = next((place for place, word in enumerate(words) if word not in shared), len(words))
        chosen = words[: differing + 1] + [word for word in words[differing + 1 :] if word not in shared]
        found.append(" ".join(chosen[:WORDS]))
    return found


def _forked_role(
    number: int, commands: Sequence[Sequence[str]], programs: Sequence[str], parents: Sequence[int]
) -> str:
    parent = parents[number]
    forked = programs[number] in _FORKING and parent >= 0 and list(commands[number]) == list(commands[parent])
    return _WORKER if forked else ""


def _numbered_workers(programs: Sequence[str], roles: Sequence[str], parents: Sequence[int]) -> dict[int, str]:
    """Return names for workers that their program numbers by the order of start: `pytest gw0`, `gunicorn worker 1`."""
    found: dict[int, str] = {}
    seen: Counter[int] = Counter()
    for number, (role, parent) in enumerate(zip(roles, parents, strict=True)):
        if role != _WORKER or parent < 0 or roles[parent]:
            continue
        program = programs[parent]
        if program in _WITH_GATEWAYS:
            found[number] = f"{program} gw{seen[parent]}"
        elif program in _FORKING:
            found[number] = f"{program} worker {seen[parent] + 1}"
        seen[parent] += 1
    return found


def _as_worker(number: int, programs: Sequence[str], roles: Sequence[str], parents: Sequence[int]) -> str:
    """Return e.g. `app worker`, after the nearest ancestor without a role. A child of a fork server is a worker, too."""
    role, ancestor, passed = roles[number], number, {number}
    while ancestor >= 0 and roles[ancestor]:
        ancestor = parents[ancestor]
        if ancestor in passed:
            ancestor = -1
        passed.add(ancestor)
        if ancestor >= 0 and roles[ancestor]:
            role = "worker"
    return f"{programs[ancestor] if ancestor >= 0 else 'multiprocessing'} {role}"


def _role(argv: Sequence[str]) -> str:
    for option, code in pairwise(argv):
        if option == "-c":
            return next((role for begin, role in _ROLES.items() if code.startswith(begin)), "")
    return ""


def _is_python(word: str) -> bool:
    return os.path.basename(word).startswith(("python", "pypy"))


def _split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the program's name and the words after it."""
    words = list(argv)
    if words and _is_python(words[0]):
        words = words[1:]
        while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-"):
            words = words[2:] if words[0] in ("-W", "-X") else words[1:]
    if not words:
        return "python", []
    if words[0] == "-m" and len(words) > 1:
        return words[1], words[2:]
    if words[0] == "-c":
        return "python -c", []
    name = os.path.basename(words[0])
    if name == "__main__.py":
        name = os.path.basename(os.path.dirname(words[0])) or name
    return name.removesuffix(".py") or words[0], words[1:]


def _program(argv: Sequence[str]) -> str:
    return _split(argv)[0]


def _words(argv: Sequence[str]) -> list[str]:
    """Return the words that identify a process to people: no options, numbers or paths, which differ between runs."""
    words = [word for word in program_words(*_split(argv)) if os.sep not in word]
    return list(dict.fromkeys(word for word in words if any(map(str.isalpha, word))))
