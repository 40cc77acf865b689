"""The fluent API: frozen plans, their executor over `graph` and `compare`, and tables as answers."""
