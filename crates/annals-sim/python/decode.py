"""Decodes ledgers with nothing of Annals in it, to check the ledger builder and the extraction from outside.

    python decode.py FILE...

FILE is a SEP-54 lake object (.xdr.zst, .xdr.zstd), or a file of framed LedgerCloseMeta (plain, or zstd under any
other name that ends in .zst). One JSON line is printed for each event, in the order of ids. Whatever does not hash
or link is named on standard error, and the exit code is 3. Ledgers of one run are held to follow each other.

Needs Python 3.11, stellar-sdk 16.1 and, for compressed files, the program zstd. That SDK knows no close time in
milliseconds (protocol 30). The network is given by the environment: ANNALS_PASSPHRASE.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys

from stellar_sdk import StrKey, xdr

OBJECT_NAME = re.compile(r"[0-9A-F]{8}--[0-9]+(-[0-9]+)?\.xdr\.zstd?$")
STAGES = ["before_all_txs", "after_tx", "after_all_txs"]
VOID = xdr.SCVal(xdr.SCValType.SCV_VOID)


def sha256(data):
    return hashlib.sha256(data).digest()


def ledgers_of(path):
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith((".zst", ".zstd")):
        data = subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    if OBJECT_NAME.search(path):
        batch = xdr.LedgerCloseMetaBatch.from_xdr_bytes(data)
        sequences = [body(meta).ledger_header.header.ledger_seq.uint32 for meta in batch.ledger_close_metas]
        if sequences != list(range(batch.start_sequence.uint32, batch.end_sequence.uint32 + 1)):
            raise SystemExit(f"{path}: the batch holds other ledgers than it says")
        yield from batch.ledger_close_metas
        return
    offset = 0
    while offset < len(data):
        length = int.from_bytes(data[offset : offset + 4], "big") & 0x7FFFFFFF
        yield xdr.LedgerCloseMeta.from_xdr_bytes(data[offset + 4 : offset + 4 + length])
        offset += 4 + length


def body(meta):
    return {0: meta.v0, 1: meta.v1, 2: meta.v2}[meta.v]


def envelopes_of(tx_set):
    if isinstance(tx_set, xdr.TransactionSet):
        yield from tx_set.txs
        return
    for phase in tx_set.v1_tx_set.phases:
        if phase.v == 0:
            for component in phase.v0_components:
                yield from component.txs_maybe_discounted_fee.txs
        else:
            for stage in phase.parallel_txs_component.execution_stages:
                for cluster in stage.parallel_tx_execution_stage:
                    yield from cluster.dependent_tx_cluster


def hash_of_set(tx_set):
    if isinstance(tx_set, xdr.TransactionSet):
        parts = [envelope.to_xdr_bytes() for envelope in tx_set.txs]
        return sha256(tx_set.previous_ledger_hash.hash + b"".join(parts))
    return sha256(tx_set.to_xdr_bytes())


def transaction_hash(envelope, network_id):
    kind, source = envelope.type, b""
    if kind == xdr.EnvelopeType.ENVELOPE_TYPE_TX_V0:
        kind, tx = xdr.EnvelopeType.ENVELOPE_TYPE_TX, envelope.v0.tx
        source = bytes(4)
    elif kind == xdr.EnvelopeType.ENVELOPE_TYPE_TX:
        tx = envelope.v1.tx
    else:
        tx = envelope.fee_bump.tx
    return sha256(network_id + kind.value.to_bytes(4, "big") + source + tx.to_xdr_bytes())


def outcome(result):
    """Whether the transaction succeeded, and its success hash if it is an invocation."""
    inner = result.result
    if inner.inner_result_pair is not None:
        inner = inner.inner_result_pair.result.result
    if inner.code != xdr.TransactionResultCode.txSUCCESS:
        return False, None
    for operation in inner.results:
        invocation = operation.tr.invoke_host_function_result if operation.tr else None
        if invocation is not None and invocation.success is not None:
            return True, invocation.success.hash
    return True, None


def shape(meta):
    """Operation events, transaction events, original candidates and return value, whatever the meta's version."""
    if meta.v < 3:
        return [], [], [], VOID
    if meta.v == 3:
        soroban = meta.v3.soroban_meta
        if soroban is None:
            return [], [], [], VOID
        return [soroban.events], [], soroban.diagnostic_events, soroban.return_value
    if meta.v == 4:
        value = meta.v4.soroban_meta.return_value if meta.v4.soroban_meta else None
        return [op.events for op in meta.v4.operations], meta.v4.events, meta.v4.diagnostic_events, value or VOID
    raise SystemExit(f"TransactionMeta V{meta.v} is not known here")


def committed(operation, diagnostics, value, success):
    """For each event of an invocation: (the event itself, its proof class, the form it was rewritten into)."""

    def hashes(events):
        pre_image = xdr.InvokeHostFunctionSuccessPreImage(value, events)
        return sha256(pre_image.to_xdr_bytes()) == success

    if hashes(operation):
        return [(event, "committed", None) for event in operation]
    diagnostic = xdr.ContractEventType.DIAGNOSTIC
    kept = [d.event for d in diagnostics if d.in_successful_contract_call and d.event.type != diagnostic]
    if len(kept) == len(operation) and hashes(kept):
        pairs = zip(kept, operation)
        return [(o, "committed", None) if o == p else (o, "rewritten", p) for o, p in pairs]
    for prefix in range(1, len(operation) + 1):
        if hashes(operation[prefix:]):
            uncommitted = [(event, "uncommitted", None) for event in operation[:prefix]]
            return uncommitted + [(event, "committed", None) for event in operation[prefix:]]
    return None


def encoded(value):
    return base64.b64encode(value.to_xdr_bytes()).decode()


def form(event):
    inner = event.body.v0
    return {
        "topics": [encoded(topic) for topic in inner.topics],
        "value": encoded(inner.data),
        "eventXdrSha256": sha256(event.to_xdr_bytes()).hex(),
    }


class Decoder:
    def __init__(self, passphrase):
        self.network_id = sha256(passphrase.encode())
        self.previous = None
        self.faults = 0

    def fault(self, ledger, what):
        self.faults += 1
        print(f"ledger {ledger}: {what}", file=sys.stderr)

    def rows(self, meta):
        ledger = body(meta)
        seq = ledger.ledger_header.header.ledger_seq.uint32
        self.check_header(seq, ledger)
        rows, running = [], {"before_all_txs": 0, "after_all_txs": 0}
        for order, processing in enumerate(ledger.tx_processing, 1):
            pair = processing.result
            successful, success = outcome(pair.result)
            operations, transaction_events, diagnostics, value = shape(processing.tx_apply_processing)
            counted = []
            for op, events in enumerate(operations):
                classed = [(event, "uncommitted", None) for event in events]
                if success is not None:
                    classed = committed(events, diagnostics, value, success)
                    if classed is None:
                        self.fault(seq, f"the events of transaction {order} do not hash")
                        classed = [(event, "mismatch", None) for event in events]
                counted += [("op", order, op, index, *entry) for index, entry in enumerate(classed)]
            after = 0
            for entry in transaction_events:
                stage = STAGES[entry.stage.value]
                if stage == "after_tx":
                    place, after = (order, 4095, after), after + 1
                else:
                    place = (0 if stage == "before_all_txs" else 0xFFFFF, 0, running[stage])
                    running[stage] += 1
                counted.append((stage, *place, entry.event, "uncommitted", None))
            for stage, tx, op, index, event, commitment, rewritten in counted:
                row = {
                    "id": f"{seq << 32 | tx << 12 | op:019d}-{index:010d}",
                    "ledger": seq,
                    "txHash": pair.transaction_hash.hash.hex(),
                    "tx": order,
                    "op": op if stage == "op" else None,
                    "stage": stage,
                    "type": event.type.name.lower(),
                    "contractId": event.contract_id and StrKey.encode_contract(event.contract_id.contract_id.hash),
                    **form(event),
                    "commitment": commitment,
                    "txSuccessful": successful,
                }
                if rewritten is not None:
                    row["rewritten"] = form(rewritten)
                rows.append(row)
        return sorted(rows, key=lambda row: row["id"])

    def check_header(self, seq, ledger):
        entry, header = ledger.ledger_header, ledger.ledger_header.header
        if sha256(header.to_xdr_bytes()) != entry.hash.hash:
            self.fault(seq, "the header does not hash")
        if self.previous is not None and self.previous != (seq - 1, header.previous_ledger_hash.hash):
            self.fault(seq, "the header does not link to the ledger before")
        self.previous = (seq, entry.hash.hash)
        pairs = [processing.result for processing in ledger.tx_processing]
        if sha256(xdr.TransactionResultSet(pairs).to_xdr_bytes()) != header.tx_set_result_hash.hash:
            self.fault(seq, "the results do not hash")
        empty = header.scp_value.ext.v == xdr.StellarValueType.STELLAR_VALUE_EMPTY_TX_SET
        expected = bytes(32) if empty else hash_of_set(ledger.tx_set)
        if header.scp_value.tx_set_hash.hash != expected:
            self.fault(seq, "the transaction set does not hash")
        recomputed = {transaction_hash(envelope, self.network_id) for envelope in envelopes_of(ledger.tx_set)}
        if recomputed != {pair.transaction_hash.hash for pair in pairs}:
            self.fault(seq, "the transactions do not hash")


def main():
    decoder = Decoder(os.environ["ANNALS_PASSPHRASE"])
    for path in sys.argv[1:]:
        for meta in ledgers_of(path):
            for row in decoder.rows(meta):
                print(json.dumps(row, separators=(",", ":")))
    raise SystemExit(3 if decoder.faults else 0)


if __name__ == "__main__":
    main()
