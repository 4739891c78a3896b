"""Stimuli from anyone and in any state, on the real program: what is unfit ends in the dead letters, what is fit goes
on, and what comes again starts nothing. On both logs."""

import json
import random
import re
from collections.abc import Iterator
from itertools import count

import pytest

from interlock.sdk.types import DeadLetter, Stimulus
from interlock.sdk.wire import from_wire
from tests.support.installation import BOTH_LOGS, Installation, id_of, install, stimulus, until
from tests.support.outside import Written

pytestmark = pytest.mark.acceptance

APP = "tests.support.errands"
NAME = "errand.asked"
BYTES_MAX = 131_072
"""`stimulus_bytes_max`, low enough for a client of Kafka to write more."""

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What would act on the terminal of whoever reads a dead letter."""
_numbers = count(1)


@pytest.fixture(scope="module", params=BOTH_LOGS)
def installation(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A program that answers errands."""
    made = install(request.param, request, tmp_path_factory.mktemp("stimuli"), STIMULUS_BYTES_MAX=str(BYTES_MAX))
    try:
        made.start(APP)
        made.publish(f"{APP}:errands")
        yield made
    finally:
        made.close()


@pytest.fixture
def mark() -> str:
    """What the keys of a test begin with."""
    return f"m{next(_numbers)}"


def errand(key: str, data: object = None, correlation: str = "c", **more: object) -> bytes:
    """A stimulus that is answered."""
    return stimulus(NAME, data, key, correlation, **more)


UNFIT: list[tuple[str, bytes]] = [
    ("unreadable", b""),
    ("unreadable", b"\x00\xff\xfe\x80 no text at all \x1b[2J"),
    ("unreadable", errand("cut")[:-9]),
    ("unreadable", errand("nul", "a").replace(b'"a"', b'"a\x00b"')),
    ("unreadable", errand("wide").decode().encode("utf-16")),
    ("unreadable", b"\xef\xbb\xbf" + errand("marked")),
    ("unreadable", errand("half").replace(b"null", rb'"\ud83d"')),
    ("unreadable", errand("overlong").replace(b"null", b'"\xc0\xaf"')),
    ("unreadable", errand("twice").replace(b'"data": null', b'"data": 1, "data": 2')),
    ("unreadable", errand("nan").replace(b"null", b"NaN")),
    ("unreadable", errand("infinite").replace(b"null", b"1e999")),
    ("unreadable", errand("large").replace(b"null", b"9" * 5_000)),
    ("unreadable", errand("deep").replace(b"null", b"[" * 50_000 + b"]" * 50_000)),
    ("unknown-type", errand("type").replace(b'"Event"', b'"Webhook"')),
    ("invalid", b"[" + errand("array") + b"]"),
    ("invalid", b'"errand.asked"'),
    ("invalid", errand("nameless").replace(b'"name"', b'"nome"')),
    ("invalid", errand("ttl", ttl=3600)),
    ("invalid", errand("deliver", deliver="some")),
    ("invalid", errand("misspelt", idempotencykey="k")),
    ("invalid", errand("blank").replace(b'"idempotencyKey": "blank"', b'"idempotencyKey": " "')),
    ("invalid", errand("bell").replace(b'"c"', rb'"c\u0007"')),
    ("invalid", errand("long", correlation="x" * 1_025)),
    ("too-large", errand("over", "x" * BYTES_MAX)),
    ("too-large", errand("far over", "x" * 1_000_000)),
]


def test_what_is_unfit_is_a_dead_letter_with_its_origin_and_what_is_behind_goes_on_in_order(
    installation: Installation, mark: str
) -> None:
    """Proves: STM-07, STM-01 (any key, any bytes), LOG-05 (what is over the limit wedges nothing).

    Each unfit record lies between two that are fit, all in one partition.
    """
    fit = [errand(f"{mark}-{number}", number) for number in range(len(UNFIT) + 1)]
    values = [value for pair in zip(fit, (value for _, value in UNFIT), strict=False) for value in pair] + fit[-1:]
    written = installation.outside.write(installation.topic("stimuli"), 1, values, key=b"\xff any \x00 key")
    runs = [installation.ended(NAME, f"{mark}-{number}", "c") for number in range(len(fit))]
    assert [run.run.output for run in runs] == list(range(len(fit)))
    places = [_place(installation, f"{mark}-{number}") for number in range(len(fit))]
    assert places == sorted(places), "expected one correlation to be routed in the order in which it was written"
    assert len({partition for partition, _ in places}) == 1

    letters = [_letter_at(installation, each) for each in written[1::2]]
    for letter, (reason, value) in zip(letters, UNFIT, strict=True):
        assert letter.reason == reason, (value[:80], letter)
        assert letter.size == len(value)
        assert letter.detail
        assert letter.origin.channel == "kafka"
        assert _CONTROLS.search(letter.excerpt) is None, letter
        assert len(letter.excerpt) <= 1_024
    _check_topic(installation, letters)


@pytest.mark.parametrize("context", ["publishing", "routing", "executions"])
def test_what_is_no_message_in_an_inbox_is_a_dead_letter_too(installation: Installation, context: str) -> None:
    """Proves: STM-07. Inboxes are the engine's own, yet anyone with access to the log can write there."""
    [where] = installation.outside.write(installation.topic(f"{context}.inbox"), 0, [b"no message of this engine"])
    letter = _letter_at(installation, where, f"{context}.inbox")
    assert (letter.reason, letter.size) == ("unreadable", len(b"no message of this engine"))
    _check_topic(installation, [letter])


def test_a_key_that_is_used_again_shows_nothing_of_what_came_first(installation: Installation, mark: str) -> None:
    """Proves: STM-04, STM-07. By the topic and by HTTP, in either order."""
    first, second = {"iban": f"secret-of-the-first-{mark}"}, {"iban": f"of-the-second-{mark}"}
    by_topic, by_http = f"{mark}-topic", f"{mark}-http"
    topic = installation.topic("stimuli")
    [_, again] = installation.outside.write(topic, 0, [errand(by_topic, first), errand(by_topic, second)])
    installation.client.emit_json(errand(by_http, first))
    [behind_http] = installation.outside.write(topic, 0, [errand(by_http, second)])
    # What comes by HTTP doesn't go through the topic, and must not be there first.
    installation.routed(NAME, by_topic, "c")
    installation.client.emit_json(errand(by_topic, second, ttl="1h"))

    for key in (by_topic, by_http):
        assert installation.ended(NAME, key, "c").run.output == first
    letters = [_letter_at(installation, again), _letter_at(installation, behind_http)]
    letters.append(until(lambda: _conflict_by_http(installation, mark), "the conflict that came by HTTP"))
    assert [letter.reason for letter in letters] == ["conflict"] * 3
    assert all(second["iban"] in letter.excerpt for letter in letters)
    assert [first["iban"] in str(letter) for letter in letters] == [False] * 3
    _check_topic(installation, letters)
    assert [first["iban"] in str(letter) for letter in installation.dead_letters()] == [False] * len(
        installation.dead_letters()
    )


def test_odd_characters_come_out_as_they_went_in(installation: Installation, mark: str) -> None:
    """Proves: STM-01, STM-03 (the payload reaches the run as it was)."""
    odd = {
        "ångström": "Zoë Król, 東京, नमस्ते",
        "beyond the first plane": "𝄞 👩‍👩‍👧‍👦 \U0010ffff",
        "directions": "\u202eabc\u202c \u200b\u2060\ufeff",
        "no characters": "\ufdd0 \uffff",
        "control": "\u0000\u0001\u001b[31m\u007f\u0085\u2028",
        "composed and not": ["é", "e\u0301"],
        "": {"": [None, True, -0.5, 1e-300, 2**64 - 1, -(2**63)]},
    }
    key, correlation = f"{mark}-ключ-🔑", "Straße/東 京?#%&+"
    installation.outside.write(installation.topic("stimuli"), 0, [errand(key, odd, correlation)])
    plain = json.dumps(odd, ensure_ascii=False).encode()
    escaped = json.dumps(odd, ensure_ascii=True).encode()
    assert plain != escaped
    # The same content in other characters of JSON is the same stimulus.
    again = errand(key, None, correlation).replace(b"null", b" " + plain)
    [where] = installation.outside.write(installation.topic("stimuli"), 1, [again])
    assert installation.ended(NAME, key, correlation).run.output == odd
    assert _stimulus(installation, key, correlation).data == odd
    _nothing_rejected_at(installation, where)


def test_what_comes_again_starts_nothing(installation: Installation, mark: str) -> None:
    """Proves: STM-04, STM-01. In one batch, over partitions, by the topic, HTTP, SDK and CLI, and after a SIGKILL."""
    topic, outside = installation.topic("stimuli"), installation.outside
    keys = [f"{mark}-{number}" for number in range(30)]
    for partition in (0, 1):
        outside.write(topic, partition, [each for key in keys for each in [errand(key, {"k": key})] * 3])
    for key in keys[:10]:
        # Keys of an object in another order, and other spaces: it is the same JSON.
        again = {"data": {"k": key}, "correlation": "c", "idempotencyKey": key, "name": NAME, "type": "Event"}
        ids = {installation.client.emit_json(json.dumps(again, indent=2)).stimulus_id for _ in range(2)}
        assert ids == {id_of(NAME, key, "c")}
    asked = ["--idempotency-key", keys[0], "--correlation", "c", "--data", json.dumps({"k": keys[0]})]
    assert installation.run("emit", "Event", NAME, *asked)[0] == 0
    # Some of it is under way now.
    installation.kill()
    outside.write(topic, 0, [errand(key, {"k": key}) for key in keys])
    installation.start(APP)
    outside.write(topic, 1, [errand(key, {"k": key}) for key in reversed(keys)])
    installation.client.emit_json(errand(keys[1], {"k": keys[1]}))

    # What is last in both partitions and by HTTP: behind it, everything before it was routed.
    last = [errand(f"{mark}-last-{partition}", None) for partition in (0, 1)]
    for partition, value in enumerate(last):
        outside.write(topic, partition, [value])
        installation.ended(NAME, f"{mark}-last-{partition}", "c")
    for key in keys:
        run = installation.ended(NAME, key, "c")
        assert run.run.output == {"k": key}
        types = [one.type for one in installation.client.history(f"execution:{run.run.execution_id}").items]
        assert types.count("executions.ExecutionStarted") == 1
        assert types.count("executions.ExecutionCompleted") == 1
        assert len(installation.client.history(f"stimulus:{id_of(NAME, key, 'c')}").items) == 1
    runs = [run for run in _all_runs(installation) if run in {id_of(NAME, key, "c") for key in keys}]
    assert len(runs) == len(keys)


def test_correlations_and_names_have_keys_of_their_own(installation: Installation, mark: str) -> None:
    """Proves: STM-04 (a key is unique within shell, identity and correlation, and says nothing outside of it)."""
    key = f"{mark}-one"
    values = [errand(key, "a", "left"), errand(key, "b", "right"), stimulus("errand.told", "c", key, "left")]
    values += [errand(key, "d", "left", shell="elsewhere")]
    chance = random.Random(5)
    for value in values:
        installation.outside.write(installation.topic("stimuli"), chance.randrange(2), [value])
    assert installation.ended(NAME, key, "left").run.output == "a"
    assert installation.ended(NAME, key, "right").run.output == "b"
    assert installation.routed("errand.told", key, "left").stimulus.outcome == "unmatched"
    unmatched = installation.client.stimuli(outcome="unmatched", name="errand.told").items
    assert [each.data for each in unmatched] == ["c"]
    elsewhere = until(lambda: _of_shell(installation, "elsewhere"), "the stimulus of another shell")
    assert [(each.data, each.outcome) for each in elsewhere] == [("d", "unmatched")]


# ---- looking ---------------------------------------------------------------------------------------------------------


def _place(installation: Installation, key: str) -> tuple[int, int]:
    """Where in the journals a stimulus was routed."""
    [event] = installation.client.history(f"stimulus:{id_of(NAME, key, 'c')}").items
    return event.partition, event.position


def _letter_at(installation: Installation, written: Written, name: str = "stimuli") -> DeadLetter:
    """The dead letter of a record of a topic, once it is there."""
    [letter] = until(lambda: _letters_at(installation, written, name), f"a dead letter of {written} in {name}")
    assert installation.client.dead_letter(letter.dead_letter_id) == letter
    return letter


def _nothing_rejected_at(installation: Installation, written: Written) -> None:
    """To be asked once everything up to there was routed; the record behind it shows that it was."""
    key = f"behind-{written.partition}-{written.offset}"
    installation.outside.write(installation.topic("stimuli"), written.partition, [errand(key)])
    installation.ended(NAME, key, "c")
    assert _letters_at(installation, written, "stimuli") == []


def _letters_at(installation: Installation, written: Written, name: str) -> list[DeadLetter]:
    origin = (installation.topic(name), *_at(written))
    return [
        each
        for each in installation.client.dead_letters(limit=500).items
        if (each.origin.topic.partition("@")[0], each.origin.partition, each.origin.offset) == origin
    ]


def _check_topic(installation: Installation, letters: list[DeadLetter]) -> None:
    """Any client reads the same as JSON."""
    expected = {letter.dead_letter_id: letter for letter in letters}

    def look() -> bool:
        return expected.keys() <= {found["id"] for found in installation.dead_letters()}

    until(look, "all dead letters in their topic")
    for found in installation.dead_letters():
        if (letter := expected.get(found["id"])) is not None:
            assert found == {
                "id": letter.dead_letter_id,
                "reason": letter.reason,
                "detail": letter.detail,
                "excerpt": letter.excerpt,
                "size": letter.size,
                "rejectedAt": letter.rejected_at_ms,
                "origin": {
                    "channel": letter.origin.channel,
                    "topic": letter.origin.topic,
                    "partition": letter.origin.partition,
                    "offset": letter.origin.offset,
                },
            }


def _conflict_by_http(installation: Installation, mark: str) -> DeadLetter | None:
    letters = installation.client.dead_letters(reason="conflict", limit=500).items
    return next((each for each in letters if each.origin.channel == "http" and mark in each.excerpt), None)


def _stimulus(installation: Installation, key: str, correlation: str) -> Stimulus:
    return installation.routed(NAME, key, correlation).stimulus


def _of_shell(installation: Installation, shell: str) -> list[Stimulus]:
    return [from_wire(Stimulus, each) for each in installation.told("stimuli", "list", "--shell", shell)["items"]]


def _all_runs(installation: Installation) -> list[str]:
    """The stimuli of all runs."""
    page = installation.client.runs(limit=500)
    found = [run.stimulus_id for run in page.items]
    while page.next is not None:
        page = installation.client.runs(limit=500, after=page.next)
        found += [run.stimulus_id for run in page.items]
    return found


def _at(written: Written) -> tuple[int, int]:
    return written.partition, written.offset
