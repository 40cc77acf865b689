"""Processes are named by what tells them apart, the same in every run."""

from clew.graph.model.process_names import process_names


def server(name: str, data: str) -> list[str]:
    return ["/usr/bin/python3", "-m", "store", "server", "--name", name, "--data", data]


def test_a_module_alone_is_its_name():
    assert process_names([["python", "-m", "store.scenario", "slow", "--data", "/tmp/x"]]) == ["store.scenario"]


def test_processes_of_one_program_are_named_by_their_words_not_by_paths():
    assert process_names([server("c1", "/tmp/a"), server("c2", "/tmp/a")]) == ["server c1", "server c2"]
    assert process_names([server("c1", "/tmp/b"), server("c2", "/tmp/b")]) == ["server c1", "server c2"]


def test_words_are_said_once_and_numbers_not_at_all():
    meta = ["python", "-m", "store", "meta", "--name", "meta", "--generation", "1"]
    assert process_names([meta, server("c1", "/t")]) == ["meta", "server c1"]


def test_the_same_words_to_two_programs_are_told_apart_by_the_program():
    commands = [["python", program, word] for program in ("a.py", "b.py") for word in ("x", "y")]
    assert process_names(commands) == ["a x", "a y", "b x", "b y"]


def test_equal_command_lines_are_numbered():
    names = process_names([server("c1", "/t"), server("c1", "/t"), server("c2", "/t")])
    assert names == ["server c1 #1", "server c1 #2", "server c2"]
    assert process_names([["python", "app.py"]] * 2) == ["app #1", "app #2"]


def test_scripts_interpreter_options_and_code_are_understood():
    commands = [
        ["python3.11", "-X", "dev", "-u", "/srv/app.py", "x"],
        ["python", "-c", "pass"],
        ["python", "pkg/__main__.py"],
    ]
    assert process_names(commands) == ["app", "python -c", "pkg"]


def test_forked_children_keep_the_programs_name_since_their_words_say_nothing():
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


def test_workers_of_multiprocessing_are_named_after_their_parents_program():
    mp = ["python", "mp.py", "spawn"]
    assert process_names([mp, SPAWNED], [-1, 0]) == ["mp", "mp worker"]
    assert process_names([mp, SPAWNED, SPAWNED], [-1, 0, 1]) == ["mp", "mp worker #1", "mp worker #2"]
    assert process_names([mp, SERVER, SERVER], [-1, 0, 1]) == ["mp", "mp fork server", "mp worker"]


def test_workers_of_nobody_or_of_each_other_have_a_name():
    assert process_names([SPAWNED], [-1]) == ["multiprocessing worker"]
    assert process_names([SPAWNED] * 2, [1, 0]) == ["multiprocessing worker #1", "multiprocessing worker #2"]
    assert process_names([["python", "-c", "pass"], SPAWNED], [-1, 0]) == ["python -c", "python -c worker"]


GATEWAY = ["python", "-u", "-c", "import sys;exec(eval(sys.stdin.readline()))"]


def test_workers_of_xdist_have_the_names_that_pytest_gives_them():
    for pytest in (["python", "-m", "pytest", "-n", "2", "tests"], ["/venv/bin/pytest", "-n2"]):
        assert process_names([pytest, GATEWAY, GATEWAY], [-1, 0, 0]) == ["pytest", "pytest gw0", "pytest gw1"]
    # Execnet's other users number nothing.
    assert process_names([["python", "app.py"], GATEWAY], [-1, 0]) == ["app", "app worker"]
    assert process_names([GATEWAY], [-1]) == ["multiprocessing worker"]


def test_process_that_a_test_starts_is_not_named_as_xdist_worker():
    commands = [["python", "-m", "pytest", "-n1"], GATEWAY, ["python", "app.py"], SPAWNED]
    assert process_names(commands, [-1, 0, 1, 1]) == ["pytest", "pytest gw0", "app", "pytest worker"]


def test_workers_that_gunicorn_forked_are_numbered():
    gunicorn = ["/venv/bin/gunicorn", "-w", "2", "app:app"]
    assert process_names([gunicorn] * 3, [-1, 0, 0]) == ["gunicorn", "gunicorn worker 1", "gunicorn worker 2"]
    assert process_names([["python", "-m", *gunicorn[1:]]] * 2, [-1, -1])[0].endswith("#1")
    assert len(set(process_names([gunicorn] * 4, [-1, 0, -1, 2]))) == 4


def test_a_word_that_all_processes_of_a_program_were_given_behind_their_own_says_nothing():
    of = {folder: [["python", "app.py", name, folder] for name in ("client", "c1", "c2")] for folder in ("mon", "tue")}
    assert process_names(of["mon"]) == process_names(of["tue"]) == ["client", "c1", "c2"], "the same in each recording"
    assert process_names([["app.py", "serve", "a"], ["app.py", "serve", "b"]]) == ["serve a", "serve b"]
