"""Match lines of logs to the events that wrote them."""
