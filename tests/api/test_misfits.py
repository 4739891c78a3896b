"""What is told of a body that doesn't fit."""

import pytest
from pydantic import ValidationError

from interlock.api.bodies import Body, PublishBody, RebuildBody
from interlock.api.misfits import misfit


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        (PublishBody, {"document": "{}", "owner": "bad"}, "'owner' to be KIND:ID, such as team:payments, found 'bad'."),
        (
            PublishBody,
            {"document": "{}", "owner": "team:"},
            "'owner' to be KIND:ID, such as team:payments, found 'team:'.",
        ),
        (PublishBody, {"document": "{}", "shell": ""}, "'shell' to be a name, found ''."),
        (PublishBody, {"document": [1]}, "'document' to be text or a JSON object, found an array."),
        (PublishBody, {"document": "{}", "wait": 99}, "'wait' to be at most 60, found 99."),
        (PublishBody, {"document": "{}", "expectRevision": -1}, "'expectRevision' to be 0 or more, found -1."),
        (PublishBody, {"document": "{}", "expectRevision": 1.5}, "'expectRevision' to be a whole number, found 1.5."),
        (PublishBody, {"document": "{}", "takeOver": "maybe"}, "'takeOver' to be true or false, found 'maybe'."),
        (
            PublishBody,
            {"document": "{}", "requestedBy": "a" * 1_001},
            "'requestedBy' to be text of at most 1000 characters, found a text of 1001 characters.",
        ),
        (RebuildBody, {"compare": None}, "'compare' to be true or false, found null."),
    ],
)
def test_it_says_what_was_expected_of_which_field_and_what_was_found(
    kind: type[Body], body: dict[str, object], says: str
) -> None:
    with pytest.raises(ValidationError) as error:
        kind.model_validate(body)
    assert misfit(error.value) == f"Expected {says}"
