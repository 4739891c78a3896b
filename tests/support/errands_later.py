"""A workflow whose code comes later: a program that runs `tests.support.errands` alone has none of it."""

from interlock import Workflow, activity, event


@activity
async def sign_off(input: object) -> str:
    """Takes no time."""
    return "signed off"


reports = Workflow("reports").on(event("report.asked")).then(sign_off)
