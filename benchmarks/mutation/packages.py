"""The packages whose mutants are measured: pinned source distributions that contain their tests.

Packages for tuning and packages for judging are apart. Changes of clew are tuned with the first only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Purpose = Literal["tuning", "judging"]


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str
    """Of the source distribution."""
    source: str
    """The folder of the distribution that Python imports from."""
    code: str
    """The folder of the package, relative to the distribution. Its tests are not mutated."""
    tests: tuple[str, ...]
    """The files or folders of tests, relative to the distribution, and options for pytest."""
    needs: tuple[str, ...] = ()
    """What its tests import, from PyPI, pinned."""
    purpose: Purpose = "judging"


_TRANSITIONS = tuple(f"tests/test_{name}.py" for name in ("core", "nesting", "states", "threading", "async"))

PACKAGES = (
    Package(
        "simpy", "4.1.1", "06d0750a7884b11e0e8e20ce0bc7c6d4ed5f1743d456695340d13fdff95001a6",
        "src", "src/simpy", ("tests",), purpose="tuning",
    ),
    Package(
        "schedule", "1.2.2", "15fe9c75fe5fd9b9627f3f19cc0ef1420508f9f9a46f45cd0769ef75ede5f0b7",
        ".", "schedule", ("test_schedule.py",), purpose="tuning",
    ),
    Package(
        "transitions", "0.9.2", "2f8490dbdbd419366cef1516032ab06d07ccb5839ef54905e842a472692d4204",
        ".", "transitions", _TRANSITIONS, purpose="tuning",
    ),
    Package(
        "jinja2", "3.1.6", "0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d",
        "src", "src/jinja2", ("tests",), ("markupsafe==3.0.3", "trio==0.31.0"), purpose="tuning",
    ),
    Package(
        "click", "8.5.1", "9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4",
        "src", "src/click", ("tests", "-m", "not stress"), purpose="tuning",
    ),
    Package(
        "tinydb", "4.9.0", "6928b1fa785186bda7952a0ba05aaeedc883ede565ca9c7d608de44e5e75de70",
        ".", "tinydb", ("tests",), ("pyyaml==6.0.3",),
    ),
    Package(
        "marshmallow", "4.4.0", "9e6ffa8511012ca89732324c1c253efd7b4d35632dcbdf80aa793fe01804af3e",
        "src", "src/marshmallow", ("tests",), ("simplejson==3.20.2",),
    ),
    Package(
        "boltons", "26.2.0", "d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
        ".", "boltons", ("tests",),
    ),
    Package(
        "werkzeug", "3.1.9", "55ca7c70a75689be937aa27f8ff4b018f06ff4838fc73045560bf0f5a1291060",
        "src", "src/werkzeug", ("tests", "--deselect", "tests/test_serving.py"),
        ("markupsafe==3.0.3", "ephemeral-port-reserve==1.1.4"),
    ),
    Package(
        "voluptuous", "0.16.0", "006535e22fed944aec17bef6e8725472476194743c87bd233e912eb463f8ff05",
        ".", "voluptuous", ("voluptuous/tests/tests.py",),
    ),
    Package(
        "humanize", "4.17.0", "1d6a36c453dbfbb3f0b34601d2e0b4ce5d48d780305cd45714843f0068fde6ac",
        "src", "src/humanize", ("tests",), ("freezegun==1.5.5",),
    ),
    Package(
        "cachetools", "8.0.2", "30ac523adfc118b51d2b2e7bad8a0ddb31370dfe2700c7f10ca224f36ccf81e0",
        "src", "src/cachetools", ("tests",),
    ),
    Package(
        "sqlparse", "0.6.1", "ca722573f848ff2d30e40ea30f53a104b7dea7635ea9285891263eb2c58fb6e7",
        ".", "sqlparse", ("tests",),
    ),
    Package(
        "h11", "0.16.0", "4e35b956cf45792e4caa5885e69fba00bdbc6ffafbfa020300e549b208ee5ff1",
        ".", "h11", ("h11/tests",),
    ),
    Package(
        "more-itertools", "11.2.1", "cbf08fd0af284dc69718b9b76a8e6203df624d70209ea511e4219d350c856f63",
        ".", "more_itertools", ("tests/test_recipes.py",),
    ),
)  # fmt: skip


def packages(purpose: Purpose) -> tuple[Package, ...]:
    return tuple(one for one in PACKAGES if one.purpose == purpose)


def package(name: str) -> Package:
    """Return the package of a name. Raise `KeyError`."""
    return {one.name: one for one in PACKAGES}[name]
