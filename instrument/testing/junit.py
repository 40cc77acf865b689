"""Add properties to a finished JUnit report: the run of the session, and the changes of each test.

Invariant: the report is replaced atomically or stays as pytest wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from xml.etree import ElementTree

from clew.instrument.testing.requests import IDENTITY


def annotate(file: str, about: Mapping[str, str], tests: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Add properties of the session, and of tests by their ids. Return errors as lines."""
    temporary = f"{file}.part"
    try:
        tree = ElementTree.parse(file)
        for suite in tree.iter("testsuite"):
            _add(suite, about)
        for case in tree.iter("testcase"):
            identity = case.find(f"properties/property[@name='{IDENTITY}']")
            if identity is not None:
                _add(case, tests.get(identity.get("value", ""), {}))
        tree.write(temporary, encoding="utf-8", xml_declaration=True)
        os.replace(temporary, file)
    except (OSError, ElementTree.ParseError) as error:
        return [f"{file}: cannot add results ({error})"]
    return []


def _add(element: ElementTree.Element, values: Mapping[str, str]) -> None:
    if not values:
        return
    properties = element.find("properties")
    if properties is None:
        properties = ElementTree.Element("properties")
        element.insert(0, properties)
    for name, value in values.items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
