"""One process of the shelf; the module with the work has a name of its own in what is recorded."""

import sys
from pathlib import Path

from shelf import main

main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
