"""Programs for judging the answers. Do not read them while you work on the answers."""
