"""A workflow whose code comes later: a program that runs `tests.support.errands` alone has none of it."""

from interlock import Workflow, activity, event


@activity
async def sign_off(input: object) -> str:
    """Takes no time."""
    return "signed off"


@activity
async def bind(report: object) -> dict[str, object]:
    """Takes no time."""
    return {"report": report}


reports = Workflow("reports").on(event("report.asked")).then(sign_off)
reports_v2 = reports.then(bind, inputs={"report": "sign_off"})
