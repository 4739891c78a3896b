"""A rehearsal in a process of its own: prints every event of its runs. For `test_repetition.py`."""

import sys

from examples import orders as shop
from interlock.testing import FaultRates, Rehearsal

RATES = FaultRates(acknowledgement_lost=0.1, never_lands=0.05, lands_late=0.05, unavailable=0.1, delay_s=(0.01, 2.0))
LINES = [shop.Line(sku="cup", quantity=2, unit_price_cents=100)]


def main(seed: int) -> None:
    """Places some orders in a storm, with a crash among them."""
    with Rehearsal(shop, seed=seed, faults=RATES) as stage:
        stage.publish(shop.orders)
        for number in range(3):
            order = shop.Order(order_id=f"o-{number}", customer="Ann", country="FR", lines=LINES)
            stage.emit("order.placed", order)
            stage.restart()
            stage.emit("payment.received", {"order_id": order.order_id}, correlation=order.order_id)
        stage.calm()
        stage.advance(days=3)
        for run in stage.client.runs().items:
            for entry in stage.history(run.execution_id):
                print(entry)


if __name__ == "__main__":
    main(int(sys.argv[1]))
