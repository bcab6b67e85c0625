// node example.js proof.json [LEDGER HASH]
import { readFile } from "node:fs/promises";
import { load } from "./index.js";

const [file, ledger, hash] = process.argv.slice(2);
const check = await load(await readFile(new URL("annals_proof.wasm", import.meta.url)));
const bundle = (await readFile(file, "utf8")).replace(/\n$/, "");
const verdict = check(bundle, ledger === undefined ? undefined : { ledger: Number(ledger), hash });
console.log(JSON.stringify(verdict));
process.exitCode = { proved: 0, undecided: 1, refuted: 3 }[verdict.verdict];
