"""What a stream in C was given leads on from what it returns."""

import pytest

from tests.support.programs.second_look import Looked


@pytest.mark.parametrize(
    ("make", "text"),
    [("io.StringIO()", "14"), ("io.TextIOWrapper(raw)", "14")],
)
def test_content_of_a_stream_is_explained_by_what_was_written(tmp_path, make, text):
    looked = Looked(
        tmp_path,
        f"""
        import io

        def price(net):
            return str(net * 2)

        def printed(net):
            raw = io.BytesIO()
            stream = {make}
            stream.write(price(net))
            stream.flush()
            stream.seek(0)
            content = stream.read()
            return content  # here

        printed(7)
        """,
    )
    told = looked.why("content")
    assert any(f"price(7) returned '{text}'" in one for one in told), told
