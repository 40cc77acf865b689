"""The one file of a report: the panel's script and style, the layout and all answers.

Invariant: the page loads no other resource. Its content policy allows the only script and the only style by their
hashes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from pathlib import Path
from typing import Any

from clew.server.http.app import STATIC, ServerError

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{script_hash}'; \
style-src 'sha256-{style_hash}'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="clew">
<title>{title}</title>
<style>{style}</style>
</head>
<body data-host="browser">
<div id="app"></div>
<script type="application/json" id="clew-report">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def page(title: str, data: dict[str, Any], static: Path = STATIC) -> str:
    """Return the text of the file. Raises `ServerError` if the panel is not built."""
    try:
        script = (static / "report.js").read_text(encoding="utf-8")
        style = (static / "main.css").read_text(encoding="utf-8")
        layout = (static / "layout.js").read_text(encoding="utf-8")
    except OSError as error:
        raise ServerError(
            f"the panel is not built ({error.filename} is missing); in a checkout of clew run `make panel`, otherwise "
            "install clew from a wheel"
        ) from None
    # The script must not contain text that looks like the end of a script or the beginning of another one.
    script = script.replace("</script", "<\\/script").replace("<script", "\\x3cscript").replace("<!--", "\\x3c!--")
    text = json.dumps({**data, "layout": layout}, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return PAGE.format(
        title=html.escape(title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=text,
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
