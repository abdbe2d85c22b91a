from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from trainc.plugins.flux import filled


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'config' is undefined"):
        filled("flux-broker.toml.j2", device="eth0")
