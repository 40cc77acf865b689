"""The features that only `.esl` files have. Features that Python files and logs also have call the spec's part
themselves."""

from clew.server.lsp.features.esl import code_action, completion, formatting, navigation, rename, symbols, tokens

FEATURES = (code_action, completion, formatting, navigation, rename, symbols, tokens)
