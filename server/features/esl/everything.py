"""The features of `.esl` files that are the only ones of their kind; where Python files and logs have them, too, those ask."""

from clew.server.features.esl import code_action, completion, formatting, navigation, rename, symbols, tokens

FEATURES = (code_action, completion, formatting, navigation, rename, symbols, tokens)
