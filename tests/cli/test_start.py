"""The command line starts at once: what takes time to load is loaded by the verbs that need it."""

import subprocess
import sys

HEAVY = ("asyncio", "httpx", "pydantic", "rich", "starlette", "uvicorn", "aiokafka", "fastavro", "interlock.runtime")


def test_help_loads_nothing_that_takes_long() -> None:
    program = (
        "import sys\n"
        "from interlock.cli import main\n"
        "sys.argv = ['interlock', '--help']\n"
        "try:\n    main.main()\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"
