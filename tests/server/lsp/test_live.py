"""Live runs: the server's notifications, lenses that count up, entities and walks."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

from clew.records.run.directory import list_runs, load_run
from clew.server.relay.launch import running
from tests.support.editor.actors import CLASSES, spec_of
from tests.support.editor.lsp import ask, begin, lenses_of, make_client, open_file

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """\
import logging, pathlib, time

def step(number):
    if number % 2:
        raise ValueError(number)

def go():
    number = 0
    while not pathlib.Path("stop").exists():
        if pathlib.Path(f"go-{number}").exists():
            try:
                step(number)
            except ValueError:
                logging.error("odd")
            number += 1
        time.sleep(0.01)

go()
"""


def watching_client():
    client = make_client()
    client.grew = asyncio.Queue()

    @client.feature("clew/runGrew")
    def _(params):
        client.grew.put_nowait(params)

    return client


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[sys.executable, "-m", "clew", "lsp"], client_factory=watching_client),
    loop_scope="module",
    scope="module",
)
async def client(lsp_client: LanguageClient, tmp_path_factory):
    folder = tmp_path_factory.mktemp("watched") / "work space"
    (folder / ".clew" / "runs").mkdir(parents=True)
    (folder / "app.py").write_text(APP)
    lsp_client.folder = folder
    await begin(lsp_client, folder)
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def start(client):
    """Return a function that records the program in a folder; it is ended after the test."""
    programs = []

    def begin_program(folder: Path, *options):
        for path in [*folder.glob("go-*"), folder / "stop"]:
            path.unlink(missing_ok=True)
        command = [
            sys.executable,
            "-m",
            "clew",
            "run",
            "-q",
            "--budget",
            "none",
            *options,
            "--",
            sys.executable,
            "app.py",
        ]
        programs.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True))
        return programs[-1]

    # The last growth of an earlier test's program may still arrive.
    client.before = {folder.name for folder, _ in list_runs(client.folder)}
    yield begin_program
    if there := running(client.folder):
        os.kill(there.pid, signal.SIGTERM)
    for program in programs:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)  # with the program that it started
        program.wait()


async def next_growth(client, matches):
    """Return the next notification that matches and is about a run of this test."""
    while True:
        growth = await asyncio.wait_for(client.grew.get(), 60)
        if growth.run not in client.before and matches(growth):
            return growth


async def titles(client):
    """Return the lens titles by line, without the record lenses."""
    found = await lenses_of(client, (client.folder / "app.py").as_uri())
    return {
        lens.range.start.line + 1: lens.command.title
        for lens in found
        if lens.command and lens.command.command != "clew.record"
    }


async def test_live_run_lenses_count_up_and_become_statistics_at_the_end(client, start):
    folder = client.folder
    open_file(client, folder / "app.py")
    program = start(folder)
    first = await next_growth(client, lambda growth: growth.calls)
    assert (first.calls, first.finished, first.processes) == (1, False, 1)
    assert await titles(client) == {7: "● 1 call so far · 1 under way"}
    for number in range(3):
        before = client.refreshed
        (folder / f"go-{number}").touch()
        growth = await next_growth(client, lambda growth, calls=number + 2: growth.calls == calls)
        assert growth.errors == (number + 1) // 2 and growth.run == first.run
        while client.refreshed == before:
            await asyncio.wait_for(client.changed.wait(), 60)
            client.changed.clear()
    assert await titles(client) == {3: "● 3 calls so far · 1 raised", 7: "● 1 call so far · 1 under way"}
    (folder / "stop").touch()
    last = await next_growth(client, lambda growth: growth.finished)
    assert (last.run, last.calls, last.errors) == (first.run, 4, 1)
    assert program.wait(60) == 0
    (lens, *_) = await lenses_of(client, (folder / "app.py").as_uri())
    assert lens.command is None  # it has the statistics of a finished run
    assert (await client.code_lens_resolve_async(lens)).command.title.startswith("3 calls · p50 ")


async def test_live_run_is_finished_once_its_processes_are_killed(client, start):
    program = start(client.folder)
    growth = await next_growth(client, lambda growth: growth.calls and not growth.finished)
    os.killpg(program.pid, signal.SIGKILL)  # with the program that it started
    program.wait()
    last = await next_growth(client, lambda one: one.finished)
    assert last.run == growth.run
    (folder, info), *_ = list_runs(client.folder)
    assert info.id == growth.run and load_run(folder).finished is None


async def test_live_run_lenses_can_be_switched_off(client, start):
    client.set_configuration({"clew": {"watch": {"codeLens": False}}})
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=None))
    program = start(client.folder)
    (client.folder / "go-0").touch()
    await next_growth(client, lambda growth: growth.calls == 2)
    found = []
    while not found:  # the lenses of the previous run stay for a while
        assert await titles(client) == {}
        found = [one for one in await lenses_of(client, (client.folder / "app.py").as_uri()) if one.command is None]
        await asyncio.sleep(0.2)
    assert (await client.code_lens_resolve_async(found[0])).command.title.startswith("1 call · ")
    (client.folder / "stop").touch()
    assert program.wait(60) == 0


ACTORS = (
    CLASSES
    + """\
def wait(number):
    while not pathlib.Path(f"go-{number}").exists():
        time.sleep(0.005)

def main():
    globe, rose = Theater("globe"), Theater("rose")
    actors = [Actor(name, globe) for name in ("ann", "ben")]
    wait(0)
    for _ in range(5):
        actors[0].tell(actors[1])
    wait(1)
    actors[1].move(rose)
    wait(2)

main()
"""
)


async def test_live_run_entities_move_and_earlier_moments_stay(client, tmp_path_factory, start):
    folder = client.folder
    (folder / "app.py").write_text(ACTORS)
    (folder / "app.esl").write_text(spec_of("app"))
    program = start(folder, "--spec", "app.esl")

    async def entities(**params):
        found = await ask(client, "clew/entities", params)
        names = {box["entity"]: box["name"] for box in found["boxes"]}
        return found, {box["name"]: names.get(box["container"], "") for box in found["boxes"]}

    growth = await next_growth(client, lambda growth: growth.events >= 4)
    run = {"run": growth.run}
    while (first := await entities(**run))[0]["moments"] < 4:
        await asyncio.sleep(0.1)
    first, places = first
    assert places == {"globe": "", "rose": "", "ann": "globe", "ben": "globe"}
    assert (first["source"], first["run"]["finished"]) == ("spec", False)
    await next_growth(client, lambda growth: growth.pushed)  # by the relay that was started
    assert running(folder)
    (folder / "go-0").touch()
    while (now := await entities(**run))[0]["moments"] < first["moments"] + 5:
        await asyncio.sleep(0.1)
    batch = await ask(client, "clew/entityEvents", run | {"fromMoment": first["moments"], "toMoment": -1})
    names = {box["entity"]: box["name"] for box in now[0]["boxes"]}
    assert [(names[line["source"]], names[line["target"]], line["count"]) for line in batch["lines"]] == [
        ("ann", "ben", 5)
    ]
    (folder / "go-1").touch()
    while (await entities(**run))[1]["ben"] != "rose":
        await asyncio.sleep(0.1)
    then, _ = await entities(**run, moment=first["moments"])
    assert (then["boxes"], then["ns"], then["moments"]) == (first["boxes"], first["ns"], 10)
    ben = next(number for number, name in names.items() if name == "ben")
    one = await ask(client, "clew/entity", run | {"entity": ben})
    assert [happening["what"] for happening in one["happenings"]][:2] == ["position", "communication"]
    assert (one["location"]["path"], one["location"]["line"]) == (str(folder / "app.py"), 16)
    assert one["path"] == ["rose"] and one["event"] == -1
    # A walk starts in a snapshot, whose events keep their numbers.
    origin = await ask(client, "clew/entityOrigin", run | {"entity": ben})
    here = {"run": origin["run"], "target": {"event": origin["event"]}}
    walk = await ask(client, "clew/walk", here)
    assert (walk["card"]["function"], walk["card"]["location"]["line"]) == ("app:Actor.move", 16)
    # The origin of a walk from ann is the last of her five messages.
    ann = next(number for number, name in names.items() if name == "ann")
    told_ben = await ask(client, "clew/entityOrigin", run | {"entity": ann})
    card = (await ask(client, "clew/walk", {"run": told_ben["run"], "target": {"event": told_ben["event"]}}))["card"]
    last_tell = (await ask(client, "clew/entity", run | {"entity": ann}))["happenings"][0]["ns"]
    assert card["function"] == "app:Actor.tell" and abs(card["timeNs"] - last_tell) < 1e6
    caused = await ask(client, "clew/walk", here | {"step": "previous"})
    (folder / "go-2").touch()
    await next_growth(client, lambda growth: growth.finished)
    assert program.wait(60) == 0
    last, places = await entities(**run)
    assert places == {"globe": "", "rose": "", "ann": "globe", "ben": "rose"}
    assert (last["run"]["finished"], last["moments"]) == (True, 10)
    again = await ask(client, "clew/walk", here | {"step": "previous"})
    assert again["card"] == caused["card"] and again["run"]["name"].startswith("app, its first ")
    origin = await ask(client, "clew/entityOrigin", run | {"entity": ben, "moment": 10})
    assert (
        origin["run"] == growth.run
        and origin["event"] == (await ask(client, "clew/entity", run | {"entity": ben}))["event"]
    )


async def test_live_run_entities_without_spec_are_threads_only(client, start):
    folder = client.folder
    (folder / "app.py").write_text(APP)
    start(folder)
    growth = await next_growth(client, lambda growth: growth.calls)
    params = {"run": growth.run, "source": "strands"}
    while not (found := await ask(client, "clew/entities", params))["boxes"]:
        await asyncio.sleep(0.1)
    assert [box["kind"] for box in found["boxes"]].count("thread") == 1
    with pytest.raises(JsonRpcException, match="recorded no event of an entity"):
        await ask(client, "clew/entities", {"run": growth.run, "source": "spec"})


WORKER = """\
import pathlib, queue, threading, time

def wait(number):
    while not pathlib.Path(f"go-{number}").exists():
        time.sleep(0.005)

def serve(todo, done):
    while (item := todo.get()) is not None:
        handle(item)
        done.put(item)

def handle(item):
    return item

def main():
    todo, done = queue.Queue(), queue.Queue()
    worker = threading.Thread(target=serve, args=(todo, done), name="worker")
    worker.start()
    wait(0)
    for item in range(3):
        todo.put(item)
        done.get()
    wait(1)
    todo.put(None)
    worker.join()

main()
"""


async def test_live_run_walk_leads_from_thread_to_thread(client, start):
    folder = client.folder
    (folder / "app.py").write_text(WORKER)
    program = start(folder)
    (folder / "go-0").touch()
    run = {
        "run": (await next_growth(client, lambda growth: growth.calls and not growth.finished)).run,
        "source": "strands",
    }

    async def threads():
        boxes = (await ask(client, "clew/entities", run))["boxes"]
        return {box["name"]: box for box in boxes if box["kind"] == "thread"}

    while (await threads()).get("worker", {}).get("sent", 0) < 3:
        await asyncio.sleep(0.1)
    worker = (await threads())["worker"]["entity"]
    newest = (await ask(client, "clew/entity", run | {"entity": worker}))["happenings"][0]
    assert (newest["what"], newest["name"], newest["otherName"]) == ("communication", "worker", "MainThread")
    origin = await ask(client, "clew/entityOrigin", run | {"entity": worker})
    here = {"run": origin["run"], "target": {"event": origin["event"]}}
    # The effect of the worker's last item, and, a step back, the worker that had put it.
    card = (await ask(client, "clew/walk", here))["card"]
    assert (card["strand"], card["function"], card["kind"]) == ("MainThread", "app:main", "receive")
    assert abs(card["timeNs"] - newest["ns"]) < 1e6
    cause = (await ask(client, "clew/walk", here | {"step": "cause"}))["card"]
    assert (cause["strand"], cause["function"], cause["kind"]) == ("worker", "app:serve", "send")
    (folder / "go-1").touch()
    await next_growth(client, lambda growth: growth.finished)
    assert program.wait(60) == 0
    # The walk still shows the same events, although the run has grown.
    assert (await ask(client, "clew/walk", here | {"step": "cause"}))["card"] == cause
