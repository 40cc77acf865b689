"""Processes are named by what tells them apart, the same in every run."""

from clew.graph.names import process_names


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
    assert process_names([server("c1", "/t")] * 2) == ["server c1 #1", "server c1 #2"]
    assert process_names([["python", "app.py"]] * 2) == ["app #1", "app #2"]


def test_scripts_interpreter_options_and_code_are_understood():
    commands = [
        ["python3.11", "-X", "dev", "-u", "/srv/app.py", "x"],
        ["python", "-c", "pass"],
        ["python", "pkg/__main__.py"],
    ]
    assert process_names(commands) == ["app", "python -c", "pkg"]
