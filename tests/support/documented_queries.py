"""The queries of docs/queries.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


EXAMPLES = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "queries.md").read_text(encoding="utf-8"), re.S | re.M)
