"""ESL, the language of specs: grammar, tree, checker, lowering to a probe plan."""
