"""Value traces: what each instruction of a second look pushed. The contract between the traced process and the analysis."""
