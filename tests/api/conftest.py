"""A service that is ready, one a test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.api.service import Service, ready


@pytest.fixture
async def service(tmp_path: Path) -> AsyncGenerator[Service, None]:
    async with ready(tmp_path) as found:
        yield found
