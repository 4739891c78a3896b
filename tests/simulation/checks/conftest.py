"""One true history for all tests of the judge; they alter copies."""

import pytest

from tests.simulation.checks.story import Story
from tests.simulation.checks.telling import tell


@pytest.fixture(scope="session")
def story() -> Story:
    """One of everything that may happen."""
    return tell()
