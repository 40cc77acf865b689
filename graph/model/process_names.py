"""Names for processes and strands that are the same in every recording of the same program."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

WORDS = 2
"""As many words of a command line are in a process's name."""


_WORKER = "worker"
_ROLES = {
    "from multiprocessing.spawn ": _WORKER,
    "from multiprocessing.forkserver ": "fork server",
    "import sys;exec(eval(sys.stdin.readline()))": _WORKER,
}
"""By how their code begins: processes of multiprocessing and execnet, whose command lines say nothing of the program."""
_FORKING = ("gunicorn", "celery")
"""Programs that fork workers, which have their command line."""
_WITH_GATEWAYS = ("pytest", "py.test")
"""Programs whose workers by execnet are known as gw0, gw1, …: pytest-xdist's, in the order in which they start."""


def process_names(commands: Sequence[Sequence[str]], parents: Sequence[int] = ()) -> list[str]:
    """A short name per process, given their command lines in the order of their start and each one's parent, -1 for none.

    The module or script; its first words instead, where they tell several processes of it apart, and with them where they
    do not; a worker of multiprocessing is one of its parent's program, those of
    pytest-xdist and gunicorn have the numbers that they are known by. Numbered where even those agree.
    """
    programs = [_program(argv) for argv in commands]
    parents = parents or [-1] * len(commands)
    roles = [_role(argv) or _forked_role(number, commands, programs, parents) for number, argv in enumerate(commands)]
    known = _numbered_workers(programs, roles, parents)
    shown = _telling_words(commands, programs, roles)
    said: dict[str, list[str]] = {}
    for words, program, role in zip(shown, programs, roles, strict=True):
        if not role:
            said.setdefault(program, []).append(words)
    short = []
    for number, (words, program) in enumerate(zip(shown, programs, strict=True)):
        if number in known:
            short.append(known[number])
            continue
        if roles[number]:
            short.append(_as_worker(number, programs, roles, parents))
            continue
        often = len(said[program])
        if often == 1 or not words:
            short.append(program)
        else:
            # A forked child has its parent's words: they do not say what it is.
            short.append(words if len(set(said[program])) > 1 else f"{program} {words}")
    # The same words may be said to different programs.
    meant = {name: {program for other, program in zip(short, programs, strict=True) if other == name} for name in short}
    names = [
        name if len(meant[name]) == 1 or name.startswith(program) else f"{program} {name}"
        for name, program in zip(short, programs, strict=True)
    ]
    counts = Counter(names)
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(f"{name} #{seen[name]}" if counts[name] > 1 else name)
    return result


def _telling_words(commands: Sequence[Sequence[str]], programs: Sequence[str], roles: Sequence[str]) -> list[str]:
    """Per process the first words of its command line. A word that all processes of the program have is left out behind the
    word that tells them apart: it tells no more, and often differs from run to run (the folder that all were given)."""
    of: dict[str, list[list[str]]] = {}
    for argv, program, role in zip(commands, programs, roles, strict=True):
        if not role:
            of.setdefault(program, []).append(_words(argv))
    common = {program: set[str].intersection(*map(set, several)) for program, several in of.items()}
    found = []
    for argv, program in zip(commands, programs, strict=True):
        words, shared = _words(argv), common.get(program, set())
        telling = next((place for place, word in enumerate(words) if word not in shared), len(words))
        kept = words[: telling + 1] + [word for word in words[telling + 1 :] if word not in shared]
        found.append(" ".join(kept[:WORDS]))
    return found


def _forked_role(
    number: int, commands: Sequence[Sequence[str]], programs: Sequence[str], parents: Sequence[int]
) -> str:
    parent = parents[number]
    forked = programs[number] in _FORKING and parent >= 0 and list(commands[number]) == list(commands[parent])
    return _WORKER if forked else ""


def _numbered_workers(programs: Sequence[str], roles: Sequence[str], parents: Sequence[int]) -> dict[int, str]:
    """Of programs that number their workers: `pytest gw0`, `gunicorn worker 1`, by the order of their start."""
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
    """`app worker`: of the nearest ancestor that is no worker itself. What a fork server forked is a worker, too."""
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
    """The program's name and what follows it."""
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
    """What tells people one process from another: no options, no numbers, no paths, which differ from run to run."""
    words = [word for word in _split(argv)[1] if not word.startswith("-") and os.sep not in word]
    return list(dict.fromkeys(word for word in words if any(map(str.isalpha, word))))
