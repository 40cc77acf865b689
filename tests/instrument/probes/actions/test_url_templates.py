"""The route of a path: names replace its values, and no value remains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.instrument.probes.actions.url_templates import with_names


@pytest.mark.parametrize(
    ("path", "values", "many", "shown"),
    [
        ("/by/somebody", {"name": "somebody", "number": 3}, 1, "/by/{name}"),
        ("/by/somebody/in/7", {"name": "somebody", "year": 7, "number": 3}, 2, "/by/{name}/in/{year}"),
        ("/api/inner", {"number": 3}, 0, "/api/inner"),
        ("", {}, 0, ""),
        ("/files/a/b/of/c", {"path": "a/b", "name": "c"}, 2, "/files/{path}/of/{name}"),
        # Values that are written differently in the path, and values that only program code could convert.
        ("/by/007", {"number": 7}, 1, ""),
        ("/at/3", {"time": 3.0}, 1, ""),
        ("/1.0/1", {"version": 1.0}, 1, ""),
        ("/by/x", {"name": object()}, 1, ""),
        ("/by/somebody", {"name": "some"}, 1, ""),
        ("/by/x", {"name": "x"}, 2, ""),
        ("/by/x", {"name": "x"}, -1, ""),
    ],
)
def test_url_template_shows_path_values_by_their_names(path, values, many, shown):
    assert with_names(path, values, many) == shown


WORDS = st.text("abc", min_size=1, max_size=2)


@given(st.lists(st.tuples(WORDS, st.booleans()), max_size=6))
def test_url_template_has_only_fixed_words_and_names(parts):
    values = {f"p{number}": word for number, (word, is_value) in enumerate(parts) if is_value}
    path = "".join(f"/{word}" for word, _ in parts)
    shown = with_names(path, values, len(values)).split("/")[1:]
    fixed = [word for word, is_value in parts if not is_value]
    assert sorted(word for word in shown if "{" not in word) == sorted(fixed)
    assert [word for word in shown if "{" in word] == [f"{{{name}}}" for name in values]


@pytest.mark.parametrize("wrong", [(b"/a", {}, 0), ("/a", [], 0), ("/a", {}, "0")])
def test_url_template_of_wrong_types_raises_type_error(wrong):
    with pytest.raises(TypeError):
        with_names(*wrong)
