"""Lower a syntax tree to a probe plan."""
