"""The registry of foreign formats has every reader that declares a format, under the reader's name."""

from pathlib import Path

import clew.graph.formats.readers as readers
from clew.cli.commands.runs.import_ import import_
from clew.graph.formats.registry import AUTO, READERS, format_named, formats


def test_registry_has_every_reader_that_declares_a_format():
    (folder,) = map(Path, readers.__path__)
    declaring = {file.stem for file in folder.glob("*.py") if "\nFORMAT = " in file.read_text(encoding="utf-8")}
    assert declaring == set(READERS.values())
    assert [each.name for each in formats()] == list(READERS)


def test_registry_every_format_can_be_recognised():
    for each in formats():
        assert each.json_sign or each.looks_like, each.name


def test_import_command_offers_every_format():
    (option,) = [parameter for parameter in import_.params if parameter.name == "format_"]
    assert list(option.type.choices) == [AUTO, *READERS]
    assert [name for name in READERS if format_named(name).takes_pattern] == ["vector-clock"]
