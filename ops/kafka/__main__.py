"""`python -m ops.kafka`: fetch Apache Kafka, start it here, or say whether the tests can have one."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from ops.kafka.broker import Cluster
from ops.kafka.errors import BrokerFailed, KafkaError, KafkaMissing
from ops.kafka.fetch import KAFKA_VERSION, fetch, home
from ops.kafka.source import find_source, running

MISSING = 3
"""The exit code where no broker can be had; `make test` hands it on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Does what the command line says, and answers with the exit code."""
    parser = argparse.ArgumentParser(prog="python -m ops.kafka", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="fetch the jars with Maven, once")
    commands.add_parser("check", help=f"say how the tests get a broker; exit with {MISSING} where they can't")
    start = commands.add_parser("start", help="run a broker or a cluster until Ctrl-C")
    start.add_argument("--nodes", type=int, choices=(1, 3), default=1)
    start.add_argument("--port", type=int, default=9092, help="of the first node; further ones come behind it")
    start.add_argument("--folder", type=Path, help="for data and logs; by default in .kafka, and kept")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "fetch":
            print(fetch())
        elif chosen.command == "check":
            print(f"kafka: the tests use {running() or find_source().value}")
        else:
            # A quorum remembers where its nodes listened, so another port is another cluster.
            _run(chosen.folder or home() / f"cluster-{chosen.nodes}-{chosen.port}", chosen.nodes, chosen.port)
    except KafkaMissing as missing:
        print(f"kafka: no broker can be had here.\n{missing}", file=sys.stderr)
        return MISSING
    except KafkaError as error:
        print(f"kafka: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _run(folder: Path, nodes: int, port: int) -> None:
    """Keeps a cluster up in the foreground; SIGTERM and a closed terminal end it in order, as Ctrl-C does."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    cluster = Cluster(folder, nodes=nodes, port=port)
    try:
        cluster.start()
        print(
            f"kafka: Apache Kafka {KAFKA_VERSION} at {cluster.bootstrap}, data in {folder}; stop with Ctrl-C",
            flush=True,
        )
        while cluster.is_up():
            time.sleep(0.5)
        raise BrokerFailed(f"expected the brokers to run until stopped, found one ended; see the logs in {folder}")
    except KeyboardInterrupt:
        print("kafka: stopping", flush=True)
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
