"""The texts of WRITE records."""

from hypothesis import given
from hypothesis import strategies as st

from clew.records.format.states import item_of, written_value


def test_text_of_an_object_has_its_type_and_key() -> None:
    assert written_value("dict #61f5cbee92c41a24") == ("dict", 0x61F5CBEE92C41A24)
    assert written_value("'dict #61f5'") == ("'dict #61f5'", 0)
    assert written_value("str of 30 characters") == ("str of 30 characters", 0)


def test_text_of_an_item_splits_into_key_and_value() -> None:
    assert item_of("'a: b': 2") == ("'a: b'", "2")
    assert item_of("3: list #ff") == ("3", "list #ff")
    assert item_of("str of 30 characters: None") == ("str of 30 characters", "None")


@given(st.text(max_size=60))
def test_any_text_splits_without_an_error(text: str) -> None:
    key, value = item_of(text)
    assert key in text and value in text
    assert written_value(text).key >= 0
