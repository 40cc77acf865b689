"""A small program to be recorded: orders for items of which a sweeper sells the last one."""
