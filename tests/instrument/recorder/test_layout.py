"""The C header of the trace format is what the Python contract generates."""

from clew.records.compress.stream_layout import Stream
from clew.records.format import event, generate_c, header

TEXT = generate_c.generate()


def test_the_committed_header_is_not_stale():
    assert generate_c.OUTPUT.read_text("utf-8") == TEXT
    assert generate_c.main(["--check"]) == 0


def test_a_stale_header_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate_c, "OUTPUT", tmp_path / "trace_format.h")
    assert generate_c.main(["--check"]) == 1
    assert "is stale" in capsys.readouterr().err
    assert generate_c.main([]) == 0 == generate_c.main(["--check"])


def test_every_kind_state_and_stream_is_there():
    for prefix, members in (("KIND", event.Kind), ("CHUNK", header.ChunkState), ("STREAM", Stream)):
        assert all(f"    {prefix}_{member.name} = {member.value},\n" in TEXT for member in members)


def test_the_compiler_checks_every_offset():
    names = [name for name in vars(header) if name.endswith("_OFFSET")]
    checked = {name for name in names if f", {name.removesuffix('_OFFSET').lower()}) ==" in TEXT}
    assert set(names) - checked == {"INFO_OFFSET", "RING_OFFSET", "CHUNK_STATE_OFFSET"}
    assert f"offsetof(struct chunk_header, state) == {header.CHUNK_STATE_OFFSET}" in TEXT
    assert header.MAGIC == b"CLEWREC\0" and '#define MAGIC "CLEWREC\\0"' in TEXT
