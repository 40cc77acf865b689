"""Convert spans of any format to an execution graph."""
