"""Makes `stimuli.jsonl`: `python -m examples.orders.generate`. The same seed gives the same bytes.

A shop's morning: orders and their payments, some of which arrive before their order (payments carry a time to live, so
they wait for it), some records sent twice by clients that saw no answer, events that nobody listens to, and records
that no engine can take: text cut short, unknown types, wrong shapes, and a key that is used again for something else.

What the engine should make of it: one run an order, each of them paid in full, and a dead letter for each record of
`unfit` and of `reused_key`.
"""

import json
import random
from pathlib import Path
from typing import Final, cast

SEED: Final = 20260713
ORDERS: Final = 140
PATH: Final = Path(__file__).with_name("stimuli.jsonl")

CUSTOMERS: Final = ("Ada Moreau", "Bram Visser", "Chiara Conti", "Dilan Aydın", "Eoin Byrne", "Freja Lund", "Zoë Król")
COUNTRIES: Final = ("FR", "NL", "IT", "DE", "IE", "DK", "PL", "ES")
PRICES_CENTS: Final = {"lamp-brass": 8900, "mug-blue": 1250, "rug-wool": 24900, "shelf-oak": 15900, "vase-glass": 3400}

Stimulus = dict[str, object]


def main() -> None:
    """Writes the file."""
    PATH.write_text("".join(f"{line}\n" for line in stimuli()), "utf-8")


def stimuli(seed: int = SEED, first: int = 1001, orders: int = ORDERS) -> list[str]:
    """The records in the order in which they come in, for orders numbered from `first`."""
    chance = random.Random(seed)
    timed: list[tuple[float, str]] = []
    placed: list[Stimulus] = []
    for number in range(orders):
        order = order_placed(chance, f"ord-{first + number}")
        paid = payment_received(order)
        placed.append(order)
        lag = chance.uniform(-15, -1) if chance.random() < 0.1 else chance.uniform(2, 40)
        for stimulus, at in ((order, float(number)), (paid, number + lag)):
            timed.append((at, text(stimulus)))
            if chance.random() < 0.08:
                timed.append((at + chance.uniform(0, 25), text(stimulus)))
    strays = (
        [unheard(chance, f"view-{first + number}") for number in range(6)] + unfit(placed[0]) + [reused_key(placed[1])]
    )
    # Behind what they are about: a key is used again only after its first use.
    timed.extend((chance.uniform(5, orders + 10), line) for line in strays)
    return [line for _, line in sorted(timed)]


def order_placed(chance: random.Random, order_id: str) -> Stimulus:
    """An order of one to three articles."""
    lines = [
        {"sku": sku, "quantity": chance.randint(1, 4), "unit_price_cents": PRICES_CENTS[sku]}
        for sku in chance.sample(sorted(PRICES_CENTS), chance.randint(1, 3))
    ]
    return {
        "type": "Event",
        "name": "order.placed",
        "data": {
            "order_id": order_id,
            "customer": chance.choice(CUSTOMERS),
            "country": chance.choice(COUNTRIES),
            "lines": lines,
        },
        "idempotencyKey": f"placed-{order_id}",
        "correlation": order_id,
    }


def payment_received(order: Stimulus) -> Stimulus:
    """The full amount for an order. It lives for an hour, since a bank doesn't wait for a shop's queue."""
    data = cast("dict[str, object]", order["data"])
    lines = cast("list[dict[str, int]]", data["lines"])
    total = sum(line["quantity"] * line["unit_price_cents"] for line in lines)
    return {
        "type": "Event",
        "name": "payment.received",
        "data": {"order_id": data["order_id"], "payment_id": f"pay-{data['order_id']}", "amount_cents": total},
        "idempotencyKey": f"paid-{data['order_id']}",
        "correlation": data["order_id"],
        "ttl": "PT1H",
    }


def unheard(chance: random.Random, key: str) -> str:
    """An event that no workflow asks for: no error, it is unmatched."""
    data = {"customer": chance.choice(CUSTOMERS), "page": chance.choice(sorted(PRICES_CENTS))}
    return text({"type": "Event", "name": "catalog.viewed", "data": data, "idempotencyKey": key})


def unfit(order: Stimulus) -> list[str]:
    """Records that no engine can take, each for another reason."""
    return [
        text(order)[:97],
        f"order.placed {order['correlation']}",
        text({**order, "type": "Webhook", "idempotencyKey": "unfit-type"}),
        text([order]),
        text({key: value for key, value in order.items() if key != "name"}),
        text({**order, "idempotencyKey": "unfit-ttl", "ttl": 3600}),
        text({**order, "idempotencyKey": "unfit-field", "corelation": "ord-0000"}),
    ]


def reused_key(order: Stimulus) -> str:
    """An order's key with other content: a conflict. It costs less, so what was paid covers whichever is taken."""
    data = cast("dict[str, object]", order["data"])
    line = {"sku": "mug-blue", "quantity": 1, "unit_price_cents": PRICES_CENTS["mug-blue"]}
    return text({**order, "data": {**data, "lines": [line]}})


def text(value: object) -> str:
    """A record as its client writes it."""
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
