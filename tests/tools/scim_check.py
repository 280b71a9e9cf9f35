"""Runs scim2-tester against a server and fails on any error.

Usage: scim_check.py BASE_URL TOKEN. Prints one line for each check that is no success; the last line counts them all.
"""

import sys
import uuid
from collections import Counter
from types import SimpleNamespace

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server, filling

# Fewer successes than this would mean that most checks were not made at all.
SUCCESSES_MIN = 60
WRONG = {Status.ERROR, Status.CRITICAL, Status.DEVIATION}


class NotAnId:
    """A random text. Names here must not have the form of an id, so that no text names two users."""

    def __init__(self) -> None:
        self.bytes = uuid.uuid4().bytes

    def __str__(self) -> str:
        return "r-" + self.bytes.hex()


def main() -> int:
    base_url, token = sys.argv[1:]
    filling.uuid = SimpleNamespace(uuid4=NotAnId)
    headers = {"Authorization": f"Bearer {token}"}
    with Client(base_url=base_url, headers=headers, timeout=30) as client:
        results = check_server(SyncSCIMClient(client))
    for result in results:
        if result.status is not Status.SUCCESS:
            print(result.status.name, result.resource_type, result.title, result.reason, sep=" | ")
            if result.status in WRONG:
                print("   ", result.data)
    counts = Counter(result.status.name for result in results)
    print(dict(counts))
    wrong = any(result.status in WRONG for result in results)
    return 1 if wrong or counts["SUCCESS"] < SUCCESSES_MIN else 0


if __name__ == "__main__":
    sys.exit(main())
