"""Function data that the editor shows: hover texts, statistics and comparison findings."""
