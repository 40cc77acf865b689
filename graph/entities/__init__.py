"""The state of a system at any moment: a pure fold of the events of its entities, which live in containers and talk."""
