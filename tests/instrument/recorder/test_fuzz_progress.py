"""`make fuzz` prints one line a minute: a log of hundreds of lines hides the results of what ran beside it."""

from collections import Counter


def test_fuzz_prints_totals_once_a_minute_and_at_the_end(fuzz, monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "fuzz", lambda seeds: Counter({"inputs": len(seeds), "readable": 1}))
    now = iter(range(0, 1000, 10))  # a step takes ten seconds
    fuzz.fuzz_for(7, inputs=0, seconds=130, clock=lambda: next(now))
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        f"60 s: {6 * fuzz.STEP} inputs, 6 readable",
        f"120 s: {12 * fuzz.STEP} inputs, 12 readable",
        f"130 s: {13 * fuzz.STEP} inputs, 13 readable",
    ]


def test_fuzz_tries_each_seed_once(fuzz, monkeypatch):
    tried = []
    monkeypatch.setattr(fuzz, "fuzz", lambda seeds: tried.extend(seeds) or Counter({"inputs": len(seeds)}))
    fuzz.fuzz_for(7, inputs=fuzz.STEP + 2, seconds=None)
    assert tried == list(range(7, 7 + fuzz.STEP + 2))
