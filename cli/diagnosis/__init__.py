"""The checks of `clew doctor`: what this machine, this interpreter and this installation allow."""
