"""Return the help text of keywords from `docs/esl.md`, so that the text exists only once."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files

from clew.esl.syntax.keywords import NAMING

_VALUES = "Values"
"""Title of the reference's section about values."""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_BULLET = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
_ROW = re.compile(r"^\| (`.+?) \| (.+) \|$", re.MULTILINE)
_PHRASES = re.compile(r"\b[a-z]+(?: [a-z]+)+(?= [A-Z]|$)")
_WORDS = re.compile(r"[^\W\d]\w*(?: [a-z]+)*")
_PROGRAM = re.compile(r"```.*?```", re.DOTALL)
_SENTENCES = re.compile(r"(?<=[.;])\s+(?=[A-Z`])|\n\n")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True)
class _Section:
    title: str
    text: str
    words: tuple[str, ...]
    """Statements that the section describes."""
    bullets: dict[str, str]
    """Text by the first word of a bullet, and by words mentioned in it."""

    def sentence_about(self, word: str) -> str:
        """Return the first sentence that begins with a word, else the first that contains it, or ""."""
        begun = re.compile(rf"`{re.escape(word)}\b")
        found = [each for each in _SENTENCES.split(_PROGRAM.sub("", self.text)) if begun.search(each)]
        found.sort(key=lambda each: begun.match(each) is None)
        return " ".join(found[0].split()) if found else ""


def help_of(word: str, statement: str = "", *, in_value: bool = False) -> str:
    """Return Markdown about a keyword in the statement around it, or "" for unknown words. Words of values have one
    meaning in all statements, and another one outside of values."""
    if in_value and (text := _rows(_VALUES).get(word, "")):
        return text
    sections = [each for each in _sections() if each.title != _VALUES]
    own = next((each for each in sections if statement and statement in each.words), None)
    if own is not None and word in own.bullets and own.words != (word,):
        return own.bullets[word]
    if not statement or word == statement:
        about = next((each for each in sections if word in each.words), None)
        if about is not None:
            return about.text
    if own is not None and (sentence := own.sentence_about(word)):
        return sentence
    if own is not None and word == "as" and statement in NAMING:
        return own.text  # where other statements have the name of a channel
    text = next((each.bullets[word] for each in sections if word in each.bullets), "")
    text = text or next(filter(None, (_rows(each.title).get(word, "") for each in sections)), "")
    if not text:
        sentences = (each.sentence_about(word) for each in sections)
        text = own.text if own is not None else next(filter(None, sentences), "")
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
            mentioned += [(each, joined) for each in _CODE.findall(joined) if _WORDS.fullmatch(each)]
        for each, joined in mentioned:
            bullets.setdefault(each, joined)
        words = tuple(word for code in _CODE.findall(heading[1]) for word in code.split())
        title = f"**{heading[1]}**"
        made.append(_Section(heading[1], f"{title}\n\n{body}", words, bullets))
    return tuple(made)


@functools.cache
def _rows(title: str) -> dict[str, str]:
    """Return the table rows of a section by each word in the first column, and by keywords of several words such as
    `decorated by`; a row with only the first word takes precedence for that word."""
    text = next((each.text for each in _sections() if each.title == title), "")
    found: dict[str, str] = {}
    first: dict[str, str] = {}
    for row in _ROW.finditer(text):
        for code in _CODE.findall(row[1]):
            phrases = _PHRASES.findall(code)
            for each in phrases:
                found.setdefault(each, f"{row[1]}: {row[2]}")
            if (word := re.match(r"\w+|[a-z]\.(\w+)\(", code)) is not None:
                begins = any(each.startswith(f"{word[0]} ") for each in phrases)
                (first if begins else found).setdefault(word[1] or word[0], f"{row[1]}: {row[2]}")
    return {**first, **found}


@functools.cache
def _reference() -> str:
    # Relative links do not work in an editor.
    return _LINK.sub(r"\1", files("clew.esl").joinpath("reference.md").read_text("utf-8"))
