"""The relay: collects the activity of all recorded programs and forwards it to viewers (docs/live.md)."""
