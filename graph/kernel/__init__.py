"""The C kernels of the graph and the module that selects them."""
