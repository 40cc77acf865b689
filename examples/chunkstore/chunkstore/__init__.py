"""A small replicated chunk store: a meta server, three chunk servers and their clients, each its own process."""
