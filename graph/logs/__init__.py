"""Lines of logs, and the events that wrote them."""
