"""The folder that `clew run` puts first on PYTHONPATH, for its `sitecustomize`. The package only exports its path."""

import os

FOLDER = os.path.dirname(__file__)


def before(paths: str) -> str:
    """Return a PYTHONPATH that begins with the folder.

    An empty PYTHONPATH has no entries; in any other, an empty entry means the working folder.
    """
    return FOLDER + os.pathsep + paths if paths else FOLDER
