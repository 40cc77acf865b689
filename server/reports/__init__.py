"""Reports: what there is to say of a run in one file."""
