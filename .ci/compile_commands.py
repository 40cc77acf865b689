"""Write compile_commands.json from the extensions that setup.py lists, for clangd and other editors of C."""

import json
import shlex
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support.extensions import extensions  # noqa: E402  # the path is set above


def commands() -> list[dict[str, object]]:
    """Return one entry for each C source, with the compiler and the flags that this Python builds extensions with."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    flags = shlex.split(sysconfig.get_config_var("CFLAGS") or "")
    python = sysconfig.get_path("include")
    return [
        {
            "directory": str(ROOT),
            "file": source,
            "arguments": [
                *compiler, *flags, *extension.extra_compile_args,
                *(f"-I{folder}" for folder in (*extension.include_dirs, python)), "-c", source,
            ],
        }
        for extension in extensions()
        for source in extension.sources
    ]  # fmt: skip


if __name__ == "__main__":
    (ROOT / "compile_commands.json").write_text(json.dumps(commands(), indent=2) + "\n", encoding="utf-8")
