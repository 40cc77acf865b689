"""Run one process of the shelf; the work is in another module, which is recorded under its own name."""

import sys
from pathlib import Path

from shelf import main

main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
