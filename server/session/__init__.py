"""A workspace's session: open runs, live runs, specs, baseline and cancellation."""
