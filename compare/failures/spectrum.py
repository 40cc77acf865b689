"""Score functions by the tests that called them: Ochiai's coefficient, the cosine between "called it" and "failed".

A passing test counts by its likeness to the failed one: what both called is most telling where the tests differ little.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]


def ochiai(failed: I64 | F64, passed: I64 | F64, failing: float) -> F64:
    """Return the score of each function, from 0 to 1.

    `failed` and `passed` are how many failing and how many passing tests called it (or the sums of their weights), and
    `failing` is the number of failing tests. A function that no failing test called has the score 0.
    """
    called = np.sqrt(float(failing) * (failed + passed))
    return np.divide(failed, called, out=np.zeros(len(failed)), where=called > 0)


def likeness(pairs: I64, tests: int, functions: I64) -> F64:
    """Return the cosine between the functions that each test called and those of one test, from 0 to 1.

    `pairs` has a row of test and function for each function that a test called; `functions` are those of the one test.
    """
    size = np.bincount(pairs[:, 0], minlength=tests).astype(np.float64)
    common = np.bincount(pairs[np.isin(pairs[:, 1], functions), 0], minlength=tests)
    product = np.sqrt(size * len(functions))
    return np.divide(common, product, out=np.zeros(tests), where=product > 0)
