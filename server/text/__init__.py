"""Events, edges, waits and gaps in words."""
