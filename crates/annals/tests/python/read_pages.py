"""Reads every page of a contract's events with a client generated from the served OpenAPI document.

Arguments: the server's URL and the contract. Makes the client in the working directory; prints the ids as JSON.
"""

import json
import pathlib
import subprocess
import sys

PAGES_MAX = 200


def generate(url):
    pathlib.Path("config.yml").write_text("post_hooks: []\n")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--url", f"{url}/v1/openapi.json"]
    command += ["--output-path", "archive_client", "--meta", "none", "--config", "config.yml", "--fail-on-warning"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    sys.path.insert(0, ".")


def read(url, contract):
    from archive_client.api.default import list_events
    from archive_client.client import Client
    from archive_client.models import EventPage
    from archive_client.types import UNSET

    client = Client(base_url=url, raise_on_unexpected_status=True)
    ids, cursor, seen = [], UNSET, set()
    for _ in range(PAGES_MAX):
        page = list_events.sync(contract, client=client, limit=20, cursor=cursor)
        assert isinstance(page, EventPage), page
        assert page.complete is False and page.incomplete_reason.value == "origin_unknown", page
        ids += [event.id for event in page.events]
        if page.cursor is None:
            return ids
        assert page.cursor not in seen, "a cursor was repeated"
        seen.add(page.cursor)
        cursor = page.cursor
    raise AssertionError("the pages do not end")


def main():
    url, contract = sys.argv[1:]
    generate(url)
    print(json.dumps(read(url, contract)))


main()
