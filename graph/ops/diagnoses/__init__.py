"""Diagnoses: each module is one query over the facts of a run that names the cause of one kind of failure."""
