"""Analyse Python source statically: declarations, class hierarchy, module look-up. The user's code is never imported."""
