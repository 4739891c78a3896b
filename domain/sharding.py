"""Ids that are computed, and the shard that a key belongs to. These are storage: changing one moves or doubles work."""

import zlib
from hashlib import blake2b

SEPARATOR = "\x1f"


def digest(*parts: str) -> str:
    """32 hexadecimal digits over the parts, in which ("a", "bc") and ("ab", "c") differ."""
    whole = SEPARATOR.join([f"{len(part)}{SEPARATOR}{part}" for part in parts])
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def shard_of(key: str, partitions: int) -> int:
    """The partition of a context with so many partitions that a shard key belongs to, for ever."""
    return zlib.crc32(key.encode("utf-8", "surrogatepass")) % partitions


def stimulus_identity(type_: str, name: str) -> str:
    """The normalised identity that bindings and waits are looked up by (STM-01)."""
    return digest("stimulus", type_, name)


def identity_for_run(execution_id: str, identity: str) -> str:
    """The identity of a stimulus that is meant for one test run: no binding and no other run listens to it (PUB-17)."""
    return digest("test-stimulus", execution_id, identity)


def routing_key(shell: str, identity: str, correlation: str) -> str:
    """The shard key of routing: stimuli and waits that may meet share it. `correlation` is "" where there is none."""
    return digest("routing", shell, identity, correlation)


def execution_id(shell: str, binding_id: str, stimulus_id: str) -> str:
    """The run that a stimulus starts through a binding: the same again, however often it is decided (STM-04)."""
    return digest("execution", shell, binding_id, stimulus_id)


def slot_id(shell: str, definition_id: str, name: str) -> str:
    """The id of the one slot that the triple names (PUB-01)."""
    return digest("slot", shell, definition_id, name)


def binding_id(slot: str, publication_id: str, node_id: str, claim: str) -> str:
    """The id of a trigger binding; scoped by slot and publication, so that two never share a row (TRG-05)."""
    return digest("binding", slot, publication_id, node_id, claim)
