"""Read trace files, compressed or not, finished or live."""
