"""Install probes in modules, scripts and C functions, and remove them."""
