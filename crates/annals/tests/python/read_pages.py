"""Reads every page of a contract's events, and of one account's, with a client generated from the served OpenAPI
document.

Arguments: the server's URL, the contract and the account. Makes the client in the working directory; prints both lists
of ids as JSON.
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


def read_account(url, contract, account):
    from archive_client.api.default import get_checkpoint, get_replay_window, list_account_events
    from archive_client.client import Client
    from archive_client.models import AccountEventPage, Checkpoint, ReplayWindow
    from archive_client.types import UNSET

    client = Client(base_url=url, raise_on_unexpected_status=True)
    checkpoint = get_checkpoint.sync(contract, account, client=client, at_ledger=1005)
    assert isinstance(checkpoint, Checkpoint) and checkpoint.event is None, checkpoint
    window = get_replay_window.sync(contract, account, client=client)
    assert isinstance(window, ReplayWindow) and window.t0 is None and window.t0_anchor is None, window
    ids, cursor = [], UNSET
    for _ in range(PAGES_MAX):
        page = list_account_events.sync(contract, account, client=client, limit=20, cursor=cursor)
        assert isinstance(page, AccountEventPage), page
        assert all(event.roles and event.payload_state.value == "not_applicable" for event in page.events), page
        ids += [event.id for event in page.events]
        if page.cursor is None:
            return ids
        cursor = page.cursor
    raise AssertionError("the pages do not end")


def main():
    url, contract, account = sys.argv[1:]
    generate(url)
    print(json.dumps([read(url, contract), read_account(url, contract, account)]))


main()
