"""Process the arguments of `clew run`, run the program, and summarize the finished run."""
