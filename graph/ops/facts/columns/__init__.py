"""Facts as columns: an object is made only for a row that is asked for."""
