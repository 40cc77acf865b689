"""The command line, one file per command; the only place where esl and instrument meet."""
