"""A test session as a run: how it begins and ends (`session`), each test as a request in it (`requests`), what changed since a
revision (`verdict`, `junit`)."""
