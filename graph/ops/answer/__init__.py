"""The answer to *why*: a verdict with its evidence, and a short chain at lines of the program."""
