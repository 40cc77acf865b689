"""The replication group: who is in it, the writes that travel in it, and the log from which a server recovers them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

GROUP = ("c1", "c2", "c3")
PRIMARY = GROUP[0]


@dataclass(frozen=True)
class Write:
    """One change to a chunk: a part with its text, the seal (how many parts there are), or its deletion. Parts and seal
    may come in any order. An empty write changes nothing: a replica sends it to be sent what it has missed."""

    chunk: str
    part: int | None = None
    text: str = ""
    length: int | None = None
    deleted: bool = False

    @property
    def is_empty(self) -> bool:
        return self.part is None and self.length is None


@dataclass
class ChunkRow:
    """What a server knows of one chunk. Its length, in parts, is unknown until it is sealed."""

    chunk: str
    parts: set[int] = field(default_factory=set)
    length: int | None = None
    deleted: bool = False

    @property
    def is_complete(self) -> bool:
        return len(self.parts) == self.length

    def take(self, write: Write) -> None:
        if write.part is not None:
            self.parts.add(write.part)
        if write.length is not None:
            self.length = write.length
        self.deleted |= write.deleted


class ReplicationLog:
    """One line of JSON for each change that is on disk. Never compacted; survives its process, not the machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, writes: Iterable[Write]) -> None:
        with self._path.open("a") as file:
            file.write("".join(json.dumps({**vars(write), "text": ""}) + "\n" for write in writes))

    def replay(self) -> list[ChunkRow]:
        """The rows of all chunks as the log leaves them, oldest chunk first."""
        rows: dict[str, ChunkRow] = {}
        if self._path.exists():
            with self._path.open() as lines:
                for write in (Write(**json.loads(line)) for line in lines):
                    rows.setdefault(write.chunk, ChunkRow(write.chunk)).take(write)
        return list(rows.values())
