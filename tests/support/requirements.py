"""What a test needs of the machine."""

import pytest

from clew.graph.runtime import worker_process

needs_own_process = pytest.mark.skipif(not worker_process.is_possible(), reason="needs glibc and a compiler")
"""For what a process of its own computes; that it is possible where CI runs is a test of its own."""
