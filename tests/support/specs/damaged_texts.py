"""Specs with errors, as they are while somebody types."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

_PARTS = re.compile(r"\w+|\s+|[^\w\s]")


def damaged(texts: Iterable[str], number: int, seed: int = 7) -> Iterator[str]:
    """Yield statements of the texts with parts removed, inserted, doubled or exchanged, the same in every run."""
    chance = random.Random(seed)
    pieces = [statement for text in texts for statement in re.findall(r"[^;{}]+[;{}]", text)]
    tokens = sorted({token for piece in pieces for token in _PARTS.findall(piece)} | {"$most", "/*", "\0"})
    for _ in range(number):
        parts = _PARTS.findall("".join(chance.choices(pieces, k=chance.randint(1, 3))))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(parts))
            other = chance.choice((chance.choice(tokens), chance.choice(parts)))
            parts[place : place + chance.choice((0, 1, 1, 2))] = chance.choice(([], [other], [other, other]))
            parts = parts or [other]
        yield "".join(parts)
