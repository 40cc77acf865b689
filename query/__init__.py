"""The fluent query API: frozen plans, their execution on `graph` and `compare`, and tables as answers."""
