"""Recomputes the digest of a history from the pages of its events, by docs/history-digest.md alone.

Arguments: the server's URL, the path that is followed by /events and /digest, the first and the last ledger. Prints what
the digest's answer must say of itself as JSON. Uses nothing but the standard library.
"""

import base64
import hashlib
import json
import sys
import urllib.parse
import urllib.request

PAGES_MAX = 1000
PARTS_MAX = 64
PREFIX = b"annals history digest v1"


def pages(url, path, first, last):
    query = {"from_ledger": first, "to_ledger": last, "limit": 37}
    for _ in range(PAGES_MAX):
        with urllib.request.urlopen(f"{url}{path}/events?{urllib.parse.urlencode(query)}") as answer:
            page = json.load(answer)
        yield from page["events"]
        if page["cursor"] is None:
            return
        query["cursor"] = page["cursor"]
    raise AssertionError("the pages do not end")


def event_xdr(event):
    contract = base64.b32decode(event["contract_id"])[1:-2]
    kind = {"contract": 1, "system": 0}[event["kind"]]
    topics = [base64.b64decode(topic) for topic in event["topics_xdr"]]
    xdr = bytes(4) + (1).to_bytes(4, "big") + contract + kind.to_bytes(4, "big") + bytes(4)
    return xdr + len(topics).to_bytes(4, "big") + b"".join(topics) + base64.b64decode(event["data_xdr"])


def hashed(event):
    toid, index = event["id"].split("-")
    return int(toid).to_bytes(8, "big") + int(index).to_bytes(4, "big") + hashlib.sha256(event_xdr(event)).digest()


def cut(first, last):
    size = 1
    while last // size - first // size + 1 > PARTS_MAX:
        size *= 64
    for number in range(first // size, last // size + 1):
        yield max(first, number * size), min(last, number * size + size - 1)


def digest(first, last, events):
    """The digest, and the parts with an event. `events` maps ledgers to the bytes that are hashed of their events."""
    held = [ledger for ledger in sorted(events) if first <= ledger <= last]
    if first == last:
        own = hashlib.sha256(b"".join(events.get(first, []))).digest()
        return own, [part(first, last, held, events, own)] if held else []
    text, parts = PREFIX, []
    for start, end in cut(first, last):
        inside = [ledger for ledger in held if start <= ledger <= end]
        if inside:
            own, _ = digest(start, end, {ledger: events[ledger] for ledger in inside})
            parts.append(part(start, end, inside, events, own))
            count = parts[-1]["events"]
            text += start.to_bytes(4, "big") + end.to_bytes(4, "big") + count.to_bytes(8, "big") + own
    return hashlib.sha256(text).digest(), parts


def part(first, last, ledgers, events, digest):
    count = sum(len(events[ledger]) for ledger in ledgers)
    return {"from_ledger": first, "to_ledger": last, "events": count, "digest": digest.hex()}


def main():
    url, path, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    events = {}
    for event in pages(url, path, first, last):
        events.setdefault(event["ledger_seq"], []).append(hashed(event))
    found, parts = digest(first, last, events)
    count = sum(len(hashes) for hashes in events.values())
    print(json.dumps({"version": 1, "digest": found.hex(), "events": count, "parts": parts}))


main()
