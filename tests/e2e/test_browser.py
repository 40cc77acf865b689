"""The panel of `clew view` in a plain browser."""

from __future__ import annotations

import re

import pytest

from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
