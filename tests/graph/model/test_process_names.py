"""Processes are named by the words that distinguish them, and get the same names in every run."""

import shlex

import pytest

from clew.graph.model.processes.process_names import process_names


def server(name: str, data: str) -> list[str]:
    return ["/usr/bin/python3", "-m", "store", "server", "--name", name, "--data", data]


def test_process_of_single_module_is_named_by_module():
    assert process_names([["python", "-m", "store.scenario", "slow", "--data", "/tmp/x"]]) == ["store.scenario"]


def test_processes_of_one_program_are_named_by_arguments_not_paths():
    assert process_names([server("c1", "/tmp/a"), server("c2", "/tmp/a")]) == ["server c1", "server c2"]
    assert process_names([server("c1", "/tmp/b"), server("c2", "/tmp/b")]) == ["server c1", "server c2"]


def test_process_name_has_each_word_once_and_no_numbers():
    meta = ["python", "-m", "store", "meta", "--name", "meta", "--generation", "1"]
    assert process_names([meta, server("c1", "/t")]) == ["meta", "server c1"]


def test_processes_with_same_arguments_are_distinguished_by_program():
    commands = [["python", program, word] for program in ("a.py", "b.py") for word in ("x", "y")]
    assert process_names(commands) == ["a x", "a y", "b x", "b y"]


def test_processes_with_equal_command_lines_are_numbered():
    names = process_names([server("c1", "/t"), server("c1", "/t"), server("c2", "/t")])
    assert names == ["server c1 #1", "server c1 #2", "server c2"]
    assert process_names([["python", "app.py"]] * 2) == ["app #1", "app #2"]


def test_process_name_ignores_interpreter_options_and_code():
    commands = [
        ["python3.11", "-X", "dev", "-u", "/srv/app.py", "x"],
        ["python", "-c", "pass"],
        ["python", "pkg/__main__.py"],
    ]
    assert process_names(commands) == ["app", "python -c", "pkg"]


def test_forked_processes_have_numbered_name_of_the_program():
    assert process_names([["python", "mp.py", "fork"]] * 3) == ["mp fork #1", "mp fork #2", "mp fork #3"]


SPAWNED = [
    "python",
    "-X",
    "dev",
    "-c",
    "from multiprocessing.spawn import spawn_main; spawn_main()",
    "--multiprocessing-fork",
]
SERVER = ["python", "-c", "from multiprocessing.forkserver import main; main()"]


def test_multiprocessing_workers_are_named_after_parent_program():
    mp = ["python", "mp.py", "spawn"]
    assert process_names([mp, SPAWNED], [-1, 0]) == ["mp", "mp worker"]
    assert process_names([mp, SPAWNED, SPAWNED], [-1, 0, 1]) == ["mp", "mp worker #1", "mp worker #2"]
    assert process_names([mp, SERVER, SERVER], [-1, 0, 1]) == ["mp", "mp fork server", "mp worker"]


def test_multiprocessing_workers_without_parent_are_named():
    assert process_names([SPAWNED], [-1]) == ["multiprocessing worker"]
    assert process_names([SPAWNED] * 2, [1, 0]) == ["multiprocessing worker #1", "multiprocessing worker #2"]
    assert process_names([["python", "-c", "pass"], SPAWNED], [-1, 0]) == ["python -c", "python -c worker"]


GATEWAY = ["python", "-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"]


def test_xdist_workers_have_the_names_of_pytest():
    for command in (["python", "-m", "pytest", "-n", "2", "tests"], ["/venv/bin/pytest", "-n2"]):
        assert process_names([command, GATEWAY, GATEWAY], [-1, 0, 0]) == ["pytest", "pytest gw0", "pytest gw1"]
    # Other programs that use execnet do not number their workers.
    assert process_names([["python", "app.py"], GATEWAY], [-1, 0]) == ["app", "app worker"]
    assert process_names([GATEWAY], [-1]) == ["multiprocessing worker"]


def test_process_that_a_test_starts_is_not_named_as_xdist_worker():
    commands = [["python", "-m", "pytest", "-n1"], GATEWAY, ["python", "app.py"], SPAWNED]
    assert process_names(commands, [-1, 0, 1, 1]) == ["pytest", "pytest gw0", "app", "pytest worker"]


def test_gunicorn_workers_are_numbered():
    gunicorn = ["/venv/bin/gunicorn", "-w", "2", "app:app"]
    assert process_names([gunicorn] * 3, [-1, 0, 0]) == ["gunicorn", "gunicorn worker 1", "gunicorn worker 2"]
    assert process_names([["python", "-m", *gunicorn[1:]]] * 2, [-1, -1])[0].endswith("#1")
    assert len(set(process_names([gunicorn] * 4, [-1, 0, -1, 2]))) == 4


def test_process_name_omits_trailing_word_common_to_all_processes():
    of = {folder: [["python", "app.py", name, folder] for name in ("client", "c1", "c2")] for folder in ("mon", "tue")}
    assert process_names(of["mon"]) == process_names(of["tue"]) == ["client", "c1", "c2"], "the same in each recording"
    assert process_names([["app.py", "serve", "a"], ["app.py", "serve", "b"]]) == ["serve a", "serve b"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m uvicorn --log-level warning shop.app:app", "shop.app:app"),
        ("python -m uvicorn --reload shop.app:app --port 80", "shop.app:app"),
        ("/venv/bin/uvicorn shop.app:app --no-access-log --loop asyncio", "shop.app:app"),
        ("uvicorn --factory --log-level=debug --http h11 shop.app:make", "shop.app:make"),
        ("gunicorn -w 4 -k uvicorn.workers.UvicornWorker -b unix:run.sock shop.app:app", "shop.app:app"),
        ("gunicorn --preload -k gevent shop.wsgi", "shop.wsgi"),
        ("gunicorn -w4 --worker-class gthread shop.wsgi", "shop.wsgi"),
        ("hypercorn --debug -k trio -b localhost:80 shop.app:app", "shop.app:app"),
        ("python -m celery -A shop worker -l info", "worker"),
        ("celery -A shop worker -B --loglevel info -Q mails", "worker mails"),
        ("celery --app=shop --quiet beat", "beat"),
        ("flask --app shop run --debug --host localhost", "shop run"),
        ("python -m flask run --no-reload --port 80", "run"),
        ("python manage.py runserver --settings shop.settings --noreload 8000", "runserver"),
        ("python manage.py migrate --noinput shop", "migrate shop"),
        ("python app.py --log-level warning serve", "serve"),
        ("python -m store server --name c1", "server c1"),
    ],
)
def test_process_among_several_of_its_program_is_named_without_values_of_options(command: str, name: str):
    argv = shlex.split(command)
    program = argv[1:] if argv[0] == "python" else argv
    other = [*argv[: len(argv) - len(program)], *(program[:2] if program[0] == "-m" else program[:1]), "elsewhere"]
    assert process_names([argv, other])[0] == name


def test_single_server_process_is_named_by_its_program():
    assert process_names([shlex.split("python -m uvicorn --log-level warning shop.app:app")]) == ["uvicorn"]
