"""Tell who wrote a state that was read, from the WRITE and GIVEN records of a run."""
