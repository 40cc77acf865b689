"""One file per foreign format that can be exported."""
