"""Checks proof bundles, written from docs/proof-format.md alone and sharing nothing with the checker of Annals.

    python check_proof.py FILE [LEDGER:HASH] [FILE [LEDGER:HASH]]…

For each FILE one line is printed: proved, refuted or undecided, a tab, and what for. Whole files are checked, without
dropping a line feed at their end. `-` reads the arguments from standard input, one pair a line.

Needs Python 3.11 and stellar-sdk 16.1.
"""

import base64
import hashlib
import json
import re
import sys

from stellar_sdk import StrKey, xdr

FORMAT = "annals-proof/1"
BYTES_MAX = 64 << 20
LEDGERS_MAX = 64
HEADERS_MAX = 64
LEDGER_MAX = 2**31 - 1


class Refuted(Exception):
    pass


class Undecided(Exception):
    pass


def demand(holds, what):
    if not holds:
        raise Refuted(what)


def sha256(data):
    return hashlib.sha256(data).digest()


# The text.


def pairs_once(pairs):
    demand(len(dict(pairs)) == len(pairs), "a field stands twice")
    return dict(pairs)


def fields(value, *names):
    demand(isinstance(value, dict) and tuple(value) == names, f"the fields are not {names}")
    return [value[name] for name in names]


def number(value):
    demand(type(value) is int and 0 <= value < 2**32, "not a number")
    return value


def text(value):
    demand(type(value) is str, "not a string")
    return value


def items(value):
    demand(type(value) is list, "not a list")
    return value


def b64(value):
    try:
        data = base64.b64decode(text(value), validate=True)
    except ValueError as error:
        raise Refuted("not base64") from error
    demand(base64.b64encode(data).decode() == value, "not the base64 of its bytes")
    return data


def b85(value):
    try:
        data = base64.b85decode(text(value))
    except ValueError as error:
        raise Refuted("not base85") from error
    demand(len(data) % 4 == 0 and base64.b85encode(data).decode() == value, "not the base85 of its bytes")
    return data


def hash_of(value):
    demand(re.fullmatch("[0-9a-f]{64}", text(value)), "not a hash")
    return bytes.fromhex(value)


def typed(kind, data):
    try:
        value = kind.from_xdr_bytes(data)
        same = value.to_xdr_bytes() == data
    except Exception as error:
        raise Refuted(f"no {kind.__name__}") from error
    demand(same, f"not the encoding of its {kind.__name__}")
    return value


def place(value):
    """An id: ledger, transaction, operation, index."""
    demand(re.fullmatch("[0-9]{19}-[0-9]{10}", text(value)), "not an id")
    toid, index = (int(part) for part in value.split("-"))
    ledger, tx, op = toid >> 32, toid >> 12 & 0xFFFFF, toid & 0xFFF
    demand(1 <= ledger <= LEDGER_MAX and index < 2**32, "no position")
    demand(op == 0 or tx not in (0, 0xFFFFF), "no position")
    return ledger, tx, op, index


def event(value):
    name, data = fields(value, "id", "event_xdr")
    return place(name), b64(data)


# Ledgers.


class Chain:
    def __init__(self):
        self.names = []
        self.claimed = 0

    def claim(self, data):
        header = self.push(data)
        self.claimed = len(self.names)
        return header

    def push(self, data):
        header = typed(xdr.LedgerHeader, data)
        sequence = header.ledger_seq.uint32
        demand(1 <= sequence <= LEDGER_MAX, "no ledger sequence")
        if self.names:
            before, name = self.names[-1]
            demand(sequence == before + 1, "the headers are not consecutive")
            demand(header.previous_ledger_hash.hash == name, "the headers do not link")
        self.names.append((sequence, sha256(data)))
        return header

    def decide(self, above, given):
        headers, anchor, unreached = fields(above, "headers", "anchor", "unreached")
        demand(len(items(headers)) <= HEADERS_MAX, "too many headers")
        for header in headers:
            self.push(b85(header))
        last, name = self.names[-1]
        lowest = self.names[self.claimed - 1][0]
        ledger, hashed = fields(anchor, "ledger", "hash")
        demand((number(ledger), hash_of(hashed)) == (last, name), "the anchor is not the last header")
        known = dict(self.names)
        if unreached is not None:
            ledger, hashed = fields(unreached, "ledger", "hash")
            demand(last < number(ledger) <= LEDGER_MAX, "the ledger that was not reached was reached")
            unreached = ledger
            known_or_said = known | {ledger: hash_of(hashed)}
        else:
            known_or_said = known
        if given is None:
            return f"ledger {last}", unreached is not None and "the pinned ledger is not reached"
        ledger, hashed = given
        demand(known_or_said.get(ledger, hashed) == hashed, "the anchor is contradicted")
        away = ledger not in known or ledger < lowest
        return f"ledger {ledger}", away and "the anchor is not in the bundle"


def results_of(value, header):
    data = b85(value)
    demand(sha256(data) == header.tx_set_result_hash.hash, "the results do not hash")
    return typed(xdr.TransactionResultSet, data).results


def operations_of(pair):
    """Whether a transaction succeeded, and the results of its operations."""
    outer = pair.result.result
    inner = outer.inner_result_pair
    if inner is None:
        return outer.code == xdr.TransactionResultCode.txSUCCESS, outer.results or []
    result = inner.result.result
    codes = (outer.code, result.code)
    success = (xdr.TransactionResultCode.txFEE_BUMP_INNER_SUCCESS, xdr.TransactionResultCode.txSUCCESS)
    return codes == success, result.results or []


def success_of(operation):
    if operation.code != xdr.OperationResultCode.opINNER:
        return None
    if operation.tr.type != xdr.OperationType.INVOKE_HOST_FUNCTION:
        return None
    return operation.tr.invoke_host_function_result.success


def invokes(pair):
    succeeded, operations = operations_of(pair)
    return succeeded and any(success_of(operation) is not None for operation in operations)


def success_hash(results, order):
    demand(1 <= order <= len(results), "there is no such transaction")
    succeeded, operations = operations_of(results[order - 1])
    found = succeeded and len(operations) == 1 and success_of(operations[0])
    demand(found, "the transaction is no invocation")
    return found.hash


def ran_under(header):
    """The protocols that the ledger's transactions may have run under."""
    version = header.ledger_version.uint32
    upgraded = any(u.upgrade_type[:4] == bytes([0, 0, 0, 1]) for u in header.scp_value.upgrades)
    return range(0, version) if upgraded else range(version, version + 1)


def emitted(value, results, order, header):
    """The events of an invocation, each with its position."""
    prefix, data = fields(value, "uncommitted_prefix", "pre_image")
    demand(number(prefix) == 0 or (23 in ran_under(header) and prefix <= 256), "the protocol knows no prefix")
    data = b85(data)
    demand(sha256(data) == success_hash(results, order), "the pre-image does not hash")
    pre_image = typed(xdr.InvokeHostFunctionSuccessPreImage, data)
    sequence = header.ledger_seq.uint32
    return [((sequence, order, 0, prefix + at), e) for at, e in enumerate(pre_image.events)]


def demand_network(passphrase, transaction, pair):
    hashed = sha256(sha256(passphrase.encode()) + transaction)
    demand(hashed == pair.transaction_hash.hash, "the transaction is not the network's")


# Kinds.


def check_event(bundle, given):
    names = ["format", "kind", "network_passphrase", "event", "rewritten_xdr", "invocation", "transaction"]
    _, _, passphrase, claim, rewritten, invocation, transaction, ledger, above = fields(
        bundle, *names, "ledger", "above"
    )
    header_data, results = fields(ledger, "header", "results")
    chain = Chain()
    header = chain.claim(b85(header_data))
    results = results_of(results, header)
    position, data = event(claim)
    order = position[1]
    events = dict(emitted(invocation, results, order, header))
    demand(position in events and events[position].to_xdr_bytes() == data, "there is no such event")
    demand_network(text(passphrase), b85(transaction), results[order - 1])
    if rewritten is not None:
        form = typed(xdr.ContractEvent, b64(rewritten))
        original = events[position]
        alike = form.contract_id == original.contract_id and form.type == original.type
        demand(alike and form != original and ran_under(header).start <= 22, "no rewritten form")
    anchor, undecided = chain.decide(above, given)
    if undecided:
        raise Undecided(undecided)
    return anchor


def check_ledgers(bundle, given):
    names = ["format", "kind", "network_passphrase", "contract_id", "events", "transaction", "ledgers", "above"]
    _, _, passphrase, contract, listed, transaction, ledgers, above = fields(bundle, *names)
    try:
        contract = StrKey.decode_contract(text(contract))
    except ValueError as error:
        raise Refuted("no contract id") from error
    demand(1 <= len(items(ledgers)) <= LEDGERS_MAX, "too many ledgers or none")
    if transaction is not None:
        transaction = b85(transaction)
    chain, found, bound = Chain(), [], False
    for ledger in ledgers:
        header_data, results, invocations = fields(ledger, "header", "results", "invocations")
        header = chain.claim(b85(header_data))
        results = results_of(results, header)
        orders = [order for order, pair in enumerate(results, 1) if invokes(pair)]
        demand(len(orders) == len(items(invocations)), "an invocation is missing or too many")
        for order, invocation in zip(orders, invocations):
            events = emitted(invocation, results, order, header)
            if not bound:
                demand(transaction is not None, "the first transaction is missing")
                demand_network(text(passphrase), transaction, results[order - 1])
                bound = True
            for position, e in events:
                if e.contract_id is not None and e.contract_id.contract_id.hash == contract:
                    found.append((position, e.to_xdr_bytes()))
    demand(bound or transaction is None, "a transaction of no invocation")
    demand([event(e) for e in items(listed)] == found, "the list is not that of the contract's events")
    anchor, undecided = chain.decide(above, given)
    if not bound:
        raise Undecided("nothing ties the ledgers to a network")
    if undecided:
        raise Undecided(undecided)
    return anchor


def check_unproven(bundle, given):
    names = ["format", "kind", "network_passphrase", "class", "event", "evidence"]
    _, _, passphrase, why, claim, evidence = fields(bundle, *names)
    demand(why in ("uncommitted", "unverified"), "no class")
    position, data = event(claim)
    typed(xdr.ContractEvent, data)
    demand(why == "uncommitted" or evidence is None, "evidence of an unverified event")
    if evidence is not None:
        weigh(text(passphrase), (position, data), evidence, given)
    text(passphrase)
    raise Undecided(f"the event is {why}")


def weigh(passphrase, claim, evidence, given):
    order, fees, ledger, above = fields(evidence, "tx_order", "fee_events", "ledger", "above")
    header_data, results = fields(ledger, "header", "results")
    chain = Chain()
    header = chain.claim(b85(header_data))
    results = results_of(results, header)
    demand(1 <= number(order) <= len(results), "there is no such transaction")
    ledger, tx, op, _ = claim[0]
    demand(ledger == header.ledger_seq.uint32 and tx in (0, order, 0xFFFFF), "the event is elsewhere")
    if tx not in (0, 0xFFFFF) and op != 4095:
        succeeded, operations = operations_of(results[order - 1])
        demand(succeeded and op < len(operations), "there is no such operation")
        reconciled = 23 in ran_under(header)
        demand(reconciled or success_of(operations[op]) is None, "the event is committed")
    fees = [event(e) for e in items(fees)]
    if fees:
        native = sha256(bytes([0, 0, 0, 8]) + sha256(passphrase.encode()) + bytes([0, 0, 0, 1]) + bytes(4))
        positions = [position for position, _ in fees]
        demand(claim in fees and positions == sorted(set(positions)), "the fee events are not in order")
        total = 0
        for (of_ledger, of_tx, of_op, _), data in fees:
            inside = of_tx not in (0, 0xFFFFF)
            demand(of_ledger == ledger and (not inside or (of_op == 4095 and of_tx == order)), "a fee is elsewhere")
            e = typed(xdr.ContractEvent, data)
            demand(e.contract_id is not None and e.contract_id.contract_id.hash == native, "no fee of the network")
            topics, amount = e.body.v0.topics, e.body.v0.data
            demand(topics and topics[0].sym is not None and topics[0].sym.sc_symbol == b"fee", "no fee")
            demand(amount.i128 is not None, "no amount")
            total += (amount.i128.hi.int64 << 64) + amount.i128.lo.uint64
        demand(total == results[order - 1].result.fee_charged.int64, "the fees do not sum")
    chain.decide(above, given)


KINDS = {"event": check_event, "ledgers": check_ledgers, "unproven": check_unproven}


def check(data, given):
    if len(data) > BYTES_MAX:
        raise Undecided("the text is too long")
    try:
        # What a later format may hold is not for this checker to judge.
        loose = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise Refuted("no JSON") from error
    demand(isinstance(loose, dict) and type(loose.get("format")) is str, "no bundle")
    if loose["format"] != FORMAT:
        raise Undecided("another format")
    bundle = json.loads(data.decode(), object_pairs_hook=pairs_once)
    try:
        again = json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise Refuted("no text") from error
    demand(again == data, "not the text of its content")
    demand(type(bundle.get("kind")) is str and bundle["kind"] in KINDS, "an unknown kind")
    return KINDS[bundle["kind"]](bundle, given)


def answer(path, anchor):
    given = None
    if anchor:
        ledger, name = anchor.split(":")
        given = int(ledger), bytes.fromhex(name)
    with open(path, "rb") as file:
        data = file.read()
    try:
        return "proved", check(data, given)
    except Refuted as fault:
        return "refuted", str(fault)
    except Undecided as reason:
        return "undecided", str(reason)


def requests(arguments):
    if arguments == ["-"]:
        arguments = sys.stdin.read().split()
    while arguments:
        path, arguments = arguments[0], arguments[1:]
        anchor = None
        if arguments and re.fullmatch("[0-9]+:[0-9a-f]{64}", arguments[0]):
            anchor, arguments = arguments[0], arguments[1:]
        yield path, anchor


if __name__ == "__main__":
    for path, anchor in requests(sys.argv[1:]):
        print("\t".join(answer(path, anchor)))
