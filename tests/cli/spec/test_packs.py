"""`clew packs` prints the contents of pack files without importing any library."""

import json
import sys

import pytest
from click.shell_completion import BashComplete

from clew.cli import app as commands
from clew.esl.packs import registry


def test_packs_lists_every_pack_with_its_description(shell):
    listed = json.loads(shell("packs", "--json").stdout)["packs"]
    assert [pack["name"] for pack in listed] == list(registry.known())
    assert all(pack["adds"] for pack in listed)
    text = shell("packs").stdout
    assert all(any(line.split()[:1] == [name] for line in text.splitlines()) for name in registry.known())


def test_packs_shell_completion_proposes_names():
    found = BashComplete(commands.clew, {}, "clew", "_CLEW_COMPLETE").get_completions(["packs"], "dj")
    assert [item.value for item in found] == ["django"]


@pytest.mark.parametrize("name", list(registry.shipped()))
def test_packs_prints_the_rules_of_the_pack_file(shell, name):
    assert shell("packs", name).stdout.startswith(registry.shipped()[name].rstrip("\n"))


def test_packs_names_versions_of_libraries_without_importing_them(shell, monkeypatch):
    text = "// Two libraries.\nscope wrapt.decorators:f;\nscope no_such_library.part:g; parameter most = 3;"
    shipped = {**registry.shipped(), "two": text}
    monkeypatch.setattr(registry, "shipped", lambda: shipped)
    monkeypatch.delitem(sys.modules, "wrapt", raising=False)
    told = json.loads(shell("packs", "two", "--json").stdout)
    assert told["adds"] == "Two libraries." and told["modules"] == ["wrapt", "no_such_library"]
    assert list(told["installed"]) == ["wrapt"] and told["installed"]["wrapt"][0].isdigit()
    assert told["parameters"] == {"most": 3} and told["rules"] == text
    assert "no_such_library (not installed)" in shell("packs", "two").stderr
    assert "wrapt" not in sys.modules


def test_packs_with_their_own_rules_have_a_cost(shell):
    assert set(registry.known()) - set(registry.costs()) == {"standard", "redis_values", "sqlite_locks"}
    assert set(registry.costs()) <= set(registry.known())
    assert all(cost["us"] > 0 for cost in registry.costs().values())


def test_packs_misspelt_name_prints_one_message(shell):
    assert "unknown pack 'thread'; did you mean `threads`?" in shell("packs", "thread", code=2).stderr
