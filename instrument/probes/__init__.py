"""How calls are noticed: rewritten bytecode, and the sites it belongs to."""
