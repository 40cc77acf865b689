"""The prose lint checks documents and strings that users see, and nothing else."""

from tests.support.prose import findings, paragraphs, strings

DOCUMENT = """# What it costs

Whoever watches is told
of it, as ever.

```
nobody
```

| `whoever` | *What led to it* | What is shown. |
"""
CODE = '''
@group.command()
def view():
    """Open the panel.

    \\b
    nobody
    """
    raise ClickException(f"{name} is no run")
'''


def found(parts):
    return [(line + text.count("\n", 0, at), message) for line, text in parts for at, message in findings(text)]


def test_prose_check_of_document_skips_code_labels_and_headings():
    assert sorted(found(paragraphs(DOCUMENT))) == [
        (3, "'Whoever': name the person or the component"),
        (3, "'is told': shows, prints, reports, lists"),
        (4, "'as ever': unchanged, as usual"),
        (10, "a sentence begins with 'What': name its subject"),
    ]


def test_prose_check_of_code_covers_only_strings_for_users():
    assert found(strings(CODE)) == [(9, "'is no ': 'is not a', or a positive verb")]


def test_prose_check_counts_the_words_of_a_long_sentence():
    assert found(paragraphs("word " * 40)) == []
    assert found(paragraphs("word " * 41)) == [(1, "a sentence has 41 words: split it (at most 40)")]
