"""Requirements of tests on the machine."""

import pytest

from clew.graph.runtime import worker_process

needs_own_process = pytest.mark.skipif(not worker_process.is_possible(), reason="needs glibc and a compiler")
"""Skip tests of worker processes where they are impossible; another test checks that CI supports them."""
