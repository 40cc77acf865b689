"""`clew view` as a user starts and stops it."""

import json
import socket
import urllib.request

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run


@pytest.fixture
def panel(monkeypatch, shell, tmp_path):
    """Provide a built panel to a command that runs in another process."""
    static = tmp_path / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html>panel")
    start = tmp_path / "start.py"
    start.write_text(
        "import pathlib, sys\n"
        "from clew.server.http import app as http\n"
        f"http.PanelServer.__init__.__defaults__ = (0, pathlib.Path({str(static)!r}), None)\n"
        "from clew.cli.main import main\n"
        "main()\n"
    )
    command = shell.command
    shell.command = lambda *arguments: [command()[0], str(start), *map(str, arguments)]
    return shell


def test_view_prints_address_answers_with_token_and_ends_by_ctrl_c(panel):
    process = panel.start("view", "--no-browser")
    line = process.stdout.readline()
    assert line.startswith("the panel is at http://127.0.0.1:")
    url = line.split()[-1]
    with urllib.request.urlopen(url, timeout=60) as page:
        assert page.read() == b"<!doctype html>panel"
    base, token = url.split("/?token=")
    request = urllib.request.Request(
        f"{base}/rpc",
        b'{"method": "clew/runs"}',
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["result"]["workspace"] == str(panel.folder)
    # An open page does not delay the end.
    with urllib.request.urlopen(f"{base}/events?token={token}", timeout=60) as events:
        assert events.readline() == b": connected\n"
        code, out, err = panel.interrupt(process)
    assert (code, out) == (0, "")
    assert "Traceback" not in err and token not in err


def test_view_port_in_use_prints_the_port(panel):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = panel.process("view", "--no-browser", "--port", port, code=2)
    assert done.stderr.startswith(f"clew: port {port} of 127.0.0.1 cannot be used (Address already in use)")


def test_view_unknown_run_prints_its_name(panel):
    assert "no run named 'gone'" in panel.process("view", "--no-browser", "--run", "gone", code=2).stderr


def test_view_without_built_panel_prints_the_make_target(panel, tmp_path):
    (tmp_path / "static" / "index.html").unlink()
    assert "make panel" in panel.process("view", "--no-browser", code=2).stderr


def test_view_json_has_the_address_and_token(panel):
    process = panel.start("view", "--no-browser", "--json")
    lines = [process.stdout.readline() for _ in range(5)]
    told = json.loads("".join(lines))
    assert told["url"] == f"http://127.0.0.1:{told['port']}/?token={told['token']}"
    with urllib.request.urlopen(told["url"], timeout=60) as page:
        assert page.read() == b"<!doctype html>panel"
    assert panel.interrupt(process)[0] == 0


def recorded(folder, name, *, over):
    plan = dump(Plan())
    made, info = create_run(folder, name=name, command=["python"], spec="", plan=plan)
    if over:
        finish_run(made, info, 0, [])
    return info.id


def test_view_live_selects_the_newest_live_run(panel):
    going = recorded(panel.folder, "going", over=False)  # this process is its launcher
    recorded(panel.folder, "newer", over=True)
    process = panel.start("view", "--no-browser", "--live")
    url = process.stdout.readline().split()[-1]
    base, token = url.removesuffix("#view=entities").split("/?token=")
    request = urllib.request.Request(f"{base}/rpc", b'{"method": "clew/runs"}', {"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["result"]["selected"] == going
    assert panel.interrupt(process)[0] == 0


def test_view_live_waits_for_a_live_run_and_refuses_a_finished_one(panel):
    over = recorded(panel.folder, "over", over=True)
    err = panel.process("view", "--no-browser", "--live", "--run", "over", code=2).stderr
    assert f"run {over} is finished; remove --live to view it" in err
    process = panel.start("view", "--no-browser", "--live")
    assert process.stdout.readline().endswith("#view=entities\n")
    assert "no live run found" in panel.interrupt(process)[2]
