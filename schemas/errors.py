"""What can be wrong with a record, or with the schemas themselves."""


class SchemaError(Exception):
    """The root: every message says what was expected, what was found, and what to do where that isn't plain."""


class UnreadableRecord(SchemaError):
    """Bytes that are no record of this program: another format, an unknown schema, or damaged ones."""


class UnwritableRecord(SchemaError):
    """An object that its schema can't hold: text that is no Unicode, a number beyond 64 bits, a foreign class."""


class InvalidSchema(SchemaError):
    """A schema file, or the catalogue, is wrong; `python -m interlock.schemas.check` says more."""
