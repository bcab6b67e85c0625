// Checks Annals proof bundles in WebAssembly. The module imports nothing: it sees the bundle and nothing else.

/**
 * Makes a checker out of the bytes of annals_proof.wasm (or of a compiled module).
 * The checker takes a bundle, as text or bytes, and perhaps an anchor, `{ ledger, hash }`, that the caller trusts; it
 * returns the verdict that docs/proof-format.md describes.
 */
export async function load(wasm) {
  const made = await WebAssembly.instantiate(wasm, {});
  const { memory, input, check, output } = (made.instance ?? made).exports;
  return (bundle, anchor) => {
    const utf8 = new TextEncoder();
    const bytes = typeof bundle === "string" ? utf8.encode(bundle) : bundle;
    if (!(bytes instanceof Uint8Array)) throw new TypeError("a bundle is a string or a Uint8Array");
    // An anchor that is null or empty is a mistake, and must not pass for none.
    const name = utf8.encode(anchor === undefined ? "" : `${anchor.ledger}:${anchor.hash}`);
    const start = input(bytes.length + name.length) >>> 0;
    if (start === 0) throw new RangeError("the bundle is longer than the memory that there is");
    // The memory may have grown, which leaves earlier views of it empty.
    new Uint8Array(memory.buffer, start).set(bytes);
    new Uint8Array(memory.buffer, start + bytes.length).set(name);
    const length = check(bytes.length, name.length) >>> 0;
    if (length === 0) throw new TypeError("an anchor is a ledger's number and its hash in 64 hexadecimal digits");
    const verdict = new Uint8Array(memory.buffer, output() >>> 0, length);
    return JSON.parse(new TextDecoder().decode(verdict));
  };
}
