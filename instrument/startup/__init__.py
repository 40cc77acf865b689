"""The folder that `clew run` puts first on PYTHONPATH, for its `sitecustomize`. As a package it only says where it is."""

import os

FOLDER = os.path.dirname(__file__)


def before(paths: str) -> str:
    """Return a PYTHONPATH that begins with the folder. An empty PYTHONPATH has no entries; otherwise an empty entry means the
    working folder."""
    return FOLDER + os.pathsep + paths if paths else FOLDER
