"""Programs for judging: whoever works on the answers does not look at them."""
