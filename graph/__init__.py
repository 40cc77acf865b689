"""The execution graph: built from records, stored in columns, asked by queries."""
