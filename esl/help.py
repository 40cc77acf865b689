"""The language's own help about its words: what `docs/esl.md` says of them, so that there is one text to keep true."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_BULLET = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
_ROW = re.compile(r"^\| (`.+?) \| (.+) \|$", re.MULTILINE)
_PHRASES = re.compile(r"\b[a-z]+(?: [a-z]+)+(?= [A-Z]|$)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True)
class _Section:
    title: str
    text: str
    words: tuple[str, ...]
    """Statements that it is about."""
    bullets: dict[str, str]
    """By the word that a bullet begins with."""


def help_of(word: str, statement: str = "") -> str:
    """Markdown about a keyword, in the statement that it stands in; "" for what the reference does not name."""
    sections = _sections()
    own = next((each for each in sections if statement and statement in each.words), None)
    if own is not None and word in own.bullets:
        return own.bullets[word]
    if not statement or word == statement:
        about = next((each for each in sections if word in each.words), None)
        if about is not None:
            return about.text
    text = next((each.bullets[word] for each in sections if word in each.bullets), "") or _values().get(word, "")
    if not text:
        # A sentence of another statement's section, if that begins with the word.
        paragraphs = (part for each in sections for part in each.text.replace("\n`", "\n\n`").split("\n\n"))
        text = own.text if own is not None else next((part for part in paragraphs if part.startswith(f"`{word}")), "")
    return text


@functools.cache
def _sections() -> tuple[_Section, ...]:
    text = _reference()
    found = list(_HEADING.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    made = []
    for heading, end in zip(found, ends, strict=True):
        body = text[heading.end() : end].strip()
        bullets: dict[str, str] = {}
        mentioned: list[tuple[str, str]] = []
        for bullet in _BULLET.finditer(body):
            joined = re.sub(r"\n\s+", " ", bullet[1])
            code = _CODE.match(joined)
            first = re.search(r"[A-Za-z]\w*", code[1]) if code else None
            if first is not None:
                bullets.setdefault(first[0], joined)
            mentioned += [(each, joined) for each in _CODE.findall(joined) if each.isidentifier()]
        for each, joined in mentioned:
            bullets.setdefault(each, joined)
        words = tuple(word for code in _CODE.findall(heading[1]) for word in code.split())
        title = f"**{heading[1]}**"
        made.append(_Section(heading[1], f"{title}\n\n{body}", words, bullets))
    return tuple(made)


@functools.cache
def _values() -> dict[str, str]:
    """By each word in the first column of a table, and by words that are one for the language: `decorated by`."""
    found: dict[str, str] = {}
    for row in _ROW.finditer(_reference()):
        for code in _CODE.findall(row[1]):
            word = re.match(r"\w+|[a-z]\.(\w+)\(", code)
            phrases = _PHRASES.findall(code)
            for each in [*phrases, *([word[1] or word[0]] if word is not None else [])]:
                found.setdefault(each, f"{row[1]}: {row[2]}")
    return found


@functools.cache
def _reference() -> str:
    # Links of the page lead nowhere from an editor.
    return _LINK.sub(r"\1", files("clew.esl").joinpath("reference.md").read_text("utf-8"))
