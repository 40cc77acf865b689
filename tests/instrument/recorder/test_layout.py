"""The C header of the trace format equals the output of its Python generator."""

from clew.records.compress.stream_layout import Stream
from clew.records.format import event, generate_c, header

TEXT = generate_c.generate()


def test_trace_format_header_in_the_repository_is_current():
    assert generate_c.OUTPUT.read_text("utf-8") == TEXT
    assert generate_c.main(["--check"]) == 0


def test_generate_c_check_reports_a_stale_header(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate_c, "OUTPUT", tmp_path / "trace_format.h")
    assert generate_c.main(["--check"]) == 1
    assert "is stale" in capsys.readouterr().err
    assert generate_c.main([]) == 0 == generate_c.main(["--check"])


def test_trace_format_header_has_every_kind_state_and_stream():
    for prefix, members in (("KIND", event.Kind), ("CHUNK", header.ChunkState), ("STREAM", Stream)):
        assert all(f"    {prefix}_{member.name} = {member.value},\n" in TEXT for member in members)


def test_trace_format_header_asserts_every_offset():
    names = [name for name in vars(header) if name.endswith("_OFFSET")]
    checked = {name for name in names if f", {name.removesuffix('_OFFSET').lower()}) ==" in TEXT}
    assert set(names) - checked == {"INFO_OFFSET", "RING_OFFSET", "CHUNK_STATE_OFFSET"}
    assert f"offsetof(struct chunk_header, state) == {header.CHUNK_STATE_OFFSET}" in TEXT
    assert header.MAGIC == b"CLEWREC\0" and '#define MAGIC "CLEWREC\\0"' in TEXT
