"""Select the functions that a probe plan matches."""
