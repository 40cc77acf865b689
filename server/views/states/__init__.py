"""States of the program: who wrote them, and when."""
