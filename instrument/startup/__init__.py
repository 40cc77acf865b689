"""The folder that `clew run` puts first on PYTHONPATH, for its `sitecustomize`. As a package it only says where it is."""

import os

FOLDER = os.path.dirname(__file__)


def before(paths: str) -> str:
    """A PYTHONPATH that begins with the folder. An empty one has no entries; of others an empty entry is the working folder."""
    return FOLDER + os.pathsep + paths if paths else FOLDER
