"""Implement the command line, one file per command. This is the only package that imports both esl and instrument."""
