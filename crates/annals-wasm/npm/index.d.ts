/** A ledger that a verdict hangs on. */
export interface Anchor {
  ledger: number;
  hash: string;
  given: boolean;
  checkpoint: boolean;
}

/** What a checker says of a bundle: see docs/proof-format.md. */
export type Verdict =
  | {
      verdict: "proved";
      claim: "event" | "all_of_contract";
      network_passphrase: string;
      contract_id: string | null;
      from_ledger: number | null;
      to_ledger: number | null;
      anchor: Anchor;
      events: {
        id: string;
        tx_hash: string;
        event_xdr: string;
        rewritten_xdr: string | null;
        index_is_the_sources: boolean;
      }[];
    }
  | { verdict: "refuted"; code: string; message: string }
  | {
      verdict: "undecided";
      code: string;
      message: string;
      fee: { tx_hash: string; tx_order: number; events: number; charged: string; anchor: Anchor } | null;
    };

/** Makes a checker out of annals_proof.wasm. */
export function load(
  wasm: BufferSource | WebAssembly.Module,
): Promise<(bundle: string | Uint8Array, anchor?: { ledger: number; hash: string }) => Verdict>;
