"""Names for processes and strands that are the same in every recording of the same program."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

WORDS = 2
"""As many words of a command line are in a process's name."""


def process_names(commands: Sequence[Sequence[str]]) -> list[str]:
    """A short name per process, given their command lines in the order of their start.

    The module or script; its first words instead, where several processes run the same one; numbered where even those agree.
    """
    programs = [_program(argv) for argv in commands]
    often = Counter(programs)
    short = [
        " ".join(_words(argv)[:WORDS]) or name if often[name] > 1 else name
        for name, argv in zip(programs, commands, strict=True)
    ]
    # The same words may be said to different programs.
    meant = {name: {program for other, program in zip(short, programs, strict=True) if other == name} for name in short}
    names = [
        name if len(meant[name]) == 1 or name == program else f"{program} {name}"
        for name, program in zip(short, programs, strict=True)
    ]
    often = Counter(names)
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(f"{name} #{seen[name]}" if often[name] > 1 else name)
    return result


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
