"""`clew python` runs what the user types, with `run` loaded; an error in a query is one sentence."""

from __future__ import annotations

import subprocess


def test_python_command_prints_the_value_of_expressions(shop):
    shown = shop(
        "python", "after", "-c", "x = run.events.where(kind='enter')\nx.count() > 3\nx.group_by('kind').count()"
    )
    assert shown.stdout.startswith("True\n")
    assert "group_by('kind').agg(count='count')" in shown.stdout.replace("\n", "")
    assert "enter" in shown.stdout.splitlines()[-1]


def test_python_command_query_error_prints_one_sentence(shop):
    assert "did you mean 'level'?" in shop("python", "-c", "run.events.where(levl='ERROR')", code=2).stderr
    assert "-c: " in shop("python", "-c", "run.events.(", code=2).stderr


def test_python_prompt_continues_after_an_error(shop):
    typed = "run.events.where(levl=3)\n1 / 0\nrun.info.name\n"
    done = subprocess.run(
        shop.command("python", "after"),
        cwd=shop.folder,
        env=shop.env,
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "'after'" in done.stdout
    assert "events have no field 'levl'; did you mean 'level'?" in done.stderr
    assert done.stderr.count("Traceback") == 1 and "ZeroDivisionError" in done.stderr
    assert "`run` is the run" in done.stderr
