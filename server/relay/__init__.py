"""The relay: collects what all recorded programs do now, and passes it on to whoever watches (docs/live.md)."""
