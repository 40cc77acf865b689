"""Facts of recorded programs, with strands by their names."""

from __future__ import annotations

from clew.graph.ops.facts.facts import Fact, Facts, Waiting


class NamedFacts(Facts):
    """Facts whose strands and lines tests can compare: names instead of numbers, the program's lines instead of stacks."""

    def name(self, strand: int) -> str:
        return self.graph.strands[strand].name if strand >= 0 else ""

    def target(self, fact: Fact) -> str:
        """Return the name of the task whose key a fact has, or that it waits for."""
        key = getattr(fact.text, "target", 0)
        return self.name(self.strand_with_key(fact.process, key if type(key) is int else fact.key))

    def of(self, channel: str) -> list[Waiting]:
        return [wait for wait in self.waits if wait.begin.channel == channel]

    def ends(self, channel: str) -> list[tuple[str, str]]:
        """Return the strand and the end of each wait of a channel, in order."""
        return [(self.name(wait.strand), wait.end) for wait in self.of(channel)]

    def asked(self) -> list[tuple[str, str, str, int]]:
        """Return who asked for each cancellation, whose, the channel and the program's line."""
        return [
            (self.name(fact.strand), self.target(fact), fact.channel, self.line(fact.row))
            for fact in sorted(self.cancels, key=lambda fact: fact.ns)
        ]

    def how_ended(self) -> dict[str, str]:
        return {self.name(strand): fact.text.end for strand, fact in self.ended.items()}

    def line(self, row: int) -> int:
        """Return the line of a row's site in the program, 0 if it lies in a library."""
        site = self.graph.sites[self.graph.at("site", row)]
        return site.line if site.file.endswith("program.py") else 0
