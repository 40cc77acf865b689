"""A small program to record: orders for items; a sweeper sells the last of an item."""
