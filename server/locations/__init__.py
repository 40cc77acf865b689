"""Maps between recorded locations, lines of source and lines of logs."""
