"""Each test is a new process as far as a site's data in memory go."""

import pytest

from client.own_site import own_site


@pytest.fixture(autouse=True)
def fresh_sites() -> None:
    own_site.cache_clear()
