"""The source of a workspace, and specs open in an editor, with a `|` at the cursor."""

import itertools

from lsprotocol import types
from pygls.workspace import PositionCodec

from clew.server.lsp.features.esl.spec_text import SpecText

numbers = itertools.count(1)

APP = '''\
"""A shop."""
import functools


class Base:
    pass


class Stock(Base):
    def __init__(self, name: str):
        self.name = name
        self.items = {}

    def lookup(self, item, count=1):
        return self.items[item]

    def mark_sold(self, item):
        self.items.pop(item)

    @property
    def size(self):
        return len(self.items)


async def order(item, user):
    return item


def main():
    pass
'''


class Opened:
    """A spec open in the editor, and the position of its `|`."""

    def __init__(self, editor, workspace, marked, name=""):
        before, bar, after = marked.partition("|")
        self.text = before + after
        path = workspace / (name or f"a{next(numbers)}.esl")
        self.uri, self.path = path.as_uri(), path
        self.spec = SpecText(self.uri, self.text, PositionCodec())
        self.position = self.spec.position(len(before)) if bar else None
        language = "python" if path.suffix == ".py" else "esl"
        editor.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri, language, 1, self.text))
        )

    @property
    def document(self):
        return types.TextDocumentIdentifier(self.uri)

    @property
    def at(self):
        return {"text_document": self.document, "position": self.position}

    @property
    def whole(self):
        return self.spec.range(0, len(self.text))

    def edited(self, edits):
        return edited(self.spec, edits)


def edited(spec, edits):
    text = spec.text
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        start, end = spec.offset(edit.range.start), spec.offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


async def actions_of(editor, spec, only=None):
    place = types.Range(spec.position, spec.position)
    return await editor.text_document_code_action_async(
        types.CodeActionParams(spec.document, place, types.CodeActionContext([], only=only))
    )


def places(locations):
    return [(location.uri.rpartition("/")[2], location.range.start.line + 1) for location in locations or ()]


def line_of(text):
    return APP.splitlines().index(text) + 1
