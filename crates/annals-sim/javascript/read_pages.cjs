// Pages through a node of Stellar's RPC with nothing of Annals in it, and prints what it read, one JSON line a thing.
//
//     NODE_PATH=…/node_modules node read_pages.cjs URL LIMIT
//
// Every XDR is decoded by @stellar/stellar-sdk and encoded again. That SDK (15, the last for Node 20) knows no empty
// transaction set in place of another (protocol 28) and no close time in milliseconds (protocol 30).

const { rpc } = require("@stellar/stellar-sdk");

const [url, limitText] = process.argv.slice(2);
const limit = Number(limitText);
const server = new rpc.Server(url, { allowHttp: true });
const print = (line) => console.log(JSON.stringify(line));
const base64 = (value) => value.toXDR("base64");

async function readNode() {
  const health = await server.getHealth();
  const network = await server.getNetwork();
  const version = await server.getVersionInfo();
  const latest = await server.getLatestLedger();
  print({
    kind: "node",
    status: health.status,
    oldest: health.oldestLedger,
    passphrase: network.passphrase,
    version: version.version,
    latest: latest.sequence,
    hash: latest.id,
    protocol: latest.protocolVersion,
  });
  return { oldest: health.oldestLedger, latest: latest.sequence };
}

async function readLedgers({ oldest, latest }) {
  let request = { startLedger: oldest, pagination: { limit } };
  for (;;) {
    const page = await server.getLedgers(request);
    for (const ledger of page.ledgers) {
      print({
        kind: "ledger",
        sequence: ledger.sequence,
        hash: ledger.hash,
        headerHash: ledger.headerXdr.hash().toString("hex"),
        metadata: base64(ledger.metadataXdr),
      });
    }
    if (page.cursor === String(latest)) return;
    request = { pagination: { cursor: page.cursor, limit } };
  }
}

async function readEvents({ oldest, latest }) {
  let request = { startLedger: oldest, limit };
  for (;;) {
    const page = await server.getEvents(request);
    for (const event of page.events) {
      print({
        kind: "event",
        id: event.id,
        ledger: event.ledger,
        txHash: event.txHash,
        type: event.type,
        contractId: event.contractId ? event.contractId.contractId() : "",
        topics: event.topic.map(base64),
        value: base64(event.value),
      });
    }
    const scanned = BigInt(page.cursor.split("-")[0]);
    if (scanned === (BigInt(latest) << 32n) + 0xffffffffn) return;
    request = { cursor: page.cursor, limit };
  }
}

const transactionLine = (transaction) => ({
  kind: "transaction",
  ledger: transaction.ledger,
  order: transaction.applicationOrder,
  hash: transaction.txHash,
  status: transaction.status,
  feeBump: transaction.feeBump,
  createdAt: Number(transaction.createdAt),
  envelope: base64(transaction.envelopeXdr),
  result: base64(transaction.resultXdr),
  meta: base64(transaction.resultMetaXdr),
});

async function readTransactions({ oldest }) {
  const pageLimit = Math.min(limit, 200);
  let request = { startLedger: oldest, pagination: { limit: pageLimit } };
  for (;;) {
    const page = await server.getTransactions(request);
    for (const transaction of page.transactions) {
      const line = transactionLine(transaction);
      print(line);
      const single = transactionLine(await server.getTransaction(transaction.txHash));
      if (JSON.stringify(single) !== JSON.stringify(line)) throw new Error(`${line.hash} is two transactions`);
    }
    if (page.transactions.length < pageLimit) return;
    request = { pagination: { cursor: page.cursor, limit: pageLimit } };
  }
}

async function read() {
  const range = await readNode();
  await readLedgers(range);
  await readEvents(range);
  await readTransactions(range);
}

read().catch((error) => {
  console.error(error);
  process.exit(1);
});
