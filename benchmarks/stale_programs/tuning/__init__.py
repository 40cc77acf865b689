"""Programs that whoever works on the answers may look at."""
