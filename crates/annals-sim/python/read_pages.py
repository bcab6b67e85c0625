"""Pages through a node of Stellar's RPC with nothing of Annals in it, and prints what it read, one JSON line a thing.

    python read_pages.py URL LIMIT

Every XDR is decoded by stellar-sdk 16.1 and encoded again. That SDK knows no close time in milliseconds (protocol 30),
and no event without topics, which a node gives without a list of them: such events are not asked for.
"""

import json
import sys

from stellar_sdk import SorobanServer, xdr
from stellar_sdk.soroban_rpc import EventFilter

WITH_TOPICS = [EventFilter(topics=[["*", "**"]])]


def show(**line):
    print(json.dumps(line))


def again(kind, text):
    return kind.from_xdr(text).to_xdr()


def read_node(server):
    health = server.get_health()
    network = server.get_network()
    latest = server.get_latest_ledger()
    show(
        kind="node",
        status=health.status,
        oldest=health.oldest_ledger,
        passphrase=network.passphrase,
        version=server.get_version_info().version,
        latest=latest.sequence,
        hash=latest.id,
        protocol=latest.protocol_version,
    )
    return health.oldest_ledger, latest.sequence


def read_ledgers(server, oldest, latest, limit):
    page = server.get_ledgers(start_ledger=oldest, limit=limit)
    while True:
        for ledger in page.ledgers:
            show(
                kind="ledger",
                sequence=ledger.sequence,
                hash=ledger.hash,
                headerHash=xdr.LedgerHeaderHistoryEntry.from_xdr(ledger.header_xdr).hash.hash.hex(),
                metadata=again(xdr.LedgerCloseMeta, ledger.metadata_xdr),
            )
        if page.cursor == str(latest):
            return
        page = server.get_ledgers(cursor=page.cursor, limit=limit)


def read_events(server, oldest, latest, limit):
    page = server.get_events(start_ledger=oldest, filters=WITH_TOPICS, limit=limit)
    while True:
        for event in page.events:
            show(
                kind="event",
                id=event.id,
                ledger=event.ledger,
                txHash=event.transaction_hash,
                type=event.event_type,
                contractId=event.contract_id,
                topics=[again(xdr.SCVal, topic) for topic in event.topic],
                value=again(xdr.SCVal, event.value),
            )
        if int(page.cursor.split("-")[0]) == (latest << 32) + 0xFFFFFFFF:
            return
        page = server.get_events(cursor=page.cursor, filters=WITH_TOPICS, limit=limit)


def transaction_line(transaction, created_at):
    return {
        "kind": "transaction",
        "ledger": transaction.ledger,
        "order": transaction.application_order,
        "hash": transaction.transaction_hash,
        "status": getattr(transaction.status, "value", transaction.status),
        "feeBump": transaction.fee_bump,
        "createdAt": created_at,
        "envelope": again(xdr.TransactionEnvelope, transaction.envelope_xdr),
        "result": again(xdr.TransactionResult, transaction.result_xdr),
        "meta": again(xdr.TransactionMeta, transaction.result_meta_xdr),
    }


def read_transactions(server, oldest, limit):
    limit = min(limit, 200)
    page = server.get_transactions(start_ledger=oldest, limit=limit)
    while True:
        for transaction in page.transactions:
            line = transaction_line(transaction, transaction.created_at)
            show(**line)
            single = server.get_transaction(transaction.transaction_hash)
            if transaction_line(single, single.create_at) != line:
                raise SystemExit(f"{transaction.transaction_hash} is two transactions")
        if len(page.transactions) < limit:
            return
        page = server.get_transactions(cursor=page.cursor, limit=limit)


def main():
    url, limit = sys.argv[1], int(sys.argv[2])
    with SorobanServer(url) as server:
        oldest, latest = read_node(server)
        read_ledgers(server, oldest, latest, limit)
        read_events(server, oldest, latest, limit)
        read_transactions(server, oldest, limit)


main()
