"""The second look: a test or a program runs again, and every instruction of its own code is followed."""
