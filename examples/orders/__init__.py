"""An order from its placing to its parcel: reserve, wait for the payment, pack, ship.

    interlock up --app examples.orders
    interlock publish examples.orders:orders

The activities write nothing outside; what each one gives follows from what it is given, so that a run can be followed
with a pencil. `stimuli.jsonl` holds events to feed it with, made by `generate.py`; `orders_v2` is the change that an
afternoon brings, to republish.
"""

import zlib

from pydantic import BaseModel, Field

from interlock import ActivityContext, Workflow, activity, event


class Line(BaseModel):
    """So many of one article."""

    sku: str
    quantity: int = Field(ge=1)
    unit_price_cents: int = Field(ge=0)


class Order(BaseModel):
    """What a customer asks for: the payload of `order.placed`."""

    order_id: str
    customer: str
    country: str
    lines: list[Line] = Field(min_length=1)


class Reservation(BaseModel):
    """Goods that are put aside for an order."""

    reservation_id: str
    warehouse: str
    total_cents: int


class Payment(BaseModel):
    """Money that came in for an order: the payload of `payment.received`."""

    order_id: str
    payment_id: str
    amount_cents: int


class Parcel(BaseModel):
    """An order in boxes."""

    parcel_id: str
    boxes: int


class Shipment(BaseModel):
    """A parcel on its way."""

    tracking_number: str
    carrier: str


class Confirmation(BaseModel):
    """What the customer is told."""

    message_id: str
    text: str


class Underpaid(Exception):
    """Less money came in than the order costs."""


ARTICLES_A_BOX = 5
"""A box holds five articles, whatever they are."""


@activity
async def reserve(order: Order) -> Reservation:
    """Puts the goods aside in the warehouse that serves the country."""
    return Reservation(
        reservation_id=f"res-{order.order_id}",
        warehouse="lyon" if order.country in ("FR", "ES", "IT") else "hamburg",
        total_cents=sum(line.quantity * line.unit_price_cents for line in order.lines),
    )


@activity
async def pack(order: Order, reservation: Reservation, payment: Payment) -> Parcel:
    """Packs what is paid for. Raises `Underpaid`, which faults the run."""
    if payment.amount_cents < reservation.total_cents:
        raise Underpaid(f"expected {reservation.total_cents} cents for {order.order_id}, found {payment.amount_cents}")
    articles = sum(line.quantity for line in order.lines)
    return Parcel(parcel_id=f"par-{order.order_id}", boxes=-(-articles // ARTICLES_A_BOX))


@activity
def ship(order: Order, parcel: Parcel) -> Shipment:
    """Hands the parcel to a carrier; a plain function, which the engine calls in a thread."""
    carrier = "parcel post" if parcel.boxes == 1 else "freight"
    return Shipment(tracking_number=f"trk-{zlib.crc32(order.order_id.encode()):08x}", carrier=carrier)


@activity
async def confirm(order: Order, shipment: Shipment, context: ActivityContext) -> Confirmation:
    """Tells the customer; the message's id is the idempotency key, so that a mailer could drop repetitions."""
    return Confirmation(
        message_id=context.idempotency_key,
        text=f"{order.customer}, your order {order.order_id} is on its way: {shipment.tracking_number}",
    )


orders = (
    Workflow("orders", input=Order)
    .on(event("order.placed"))
    .then(reserve)
    .wait_for(event("payment.received"), correlate="order_id", timeout="2d", id="payment")
    .then(pack)
    .then(ship)
)

orders_v2 = orders.then(confirm)
