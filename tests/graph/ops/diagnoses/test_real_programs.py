"""Real programs with a planted fault, and near misses, made by a generator that does not know the diagnoses."""

from __future__ import annotations

import pytest
from diagnoses import real

from tests.support.diagnoses.programs.kinds import KINDS, real_program


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_real_program_of_every_seed_compiles(kind):
    for seed in range(30):
        for fault in (True, False):
            compile(real_program(kind, seed, fault)[1], kind, "exec")


@pytest.mark.parametrize("fault", [True, False])
def test_no_noise_writes_while_a_program_forks(fault):
    for seed in range(30):
        main = real_program("lock-held-at-fork", seed, fault)[1].partition("\ndef main():")[2]
        assert "each.start()" not in main or main.index("each.join()") < main.index("scenario()")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [True, False], ids=["fault", "near miss"])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_recorded_program_with_fault_is_named_and_near_miss_is_silent(kind, fault, tmp_path):
    outcome = real(kind, 1, fault, tmp_path)
    assert not outcome.why_not
    assert outcome.right, str(outcome)
