"""Record a test session as a run: its begin and end (`session`), each test as a request (`requests`), and the changes since a
revision (`verdict`, `junit`)."""
