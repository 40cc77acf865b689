"""The folder that `clew run` puts first on PYTHONPATH. It is a package only to be shipped; nothing imports it as one."""
