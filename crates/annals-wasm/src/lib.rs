//! [`annals_core::check_proof`] over linear memory, for whoever loads WebAssembly: three functions, no imports, no glue
//! that has to be generated. `npm/index.js` wraps them.
//!
//! The caller asks [`input`] for room, writes the bundle there and, right behind it, the anchor as `LEDGER:HASH` (nothing
//! for none), calls [`check`] with both lengths, and reads as many bytes as it returns from where [`output`] points.

#![allow(
    unsafe_code,
    reason = "an export needs a name that nothing else in the module has; nothing else here is unsafe"
)]

use std::sync::Mutex;

use annals_core::{LedgerHash, LedgerSeq, check_proof};

/// The module's two buffers. A module has one thread, so that nobody ever waits for them.
struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
}

static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers { input: Vec::new(), output: Vec::new() });

/// Runs `work` on the buffers, whatever became of them before.
fn with<T>(work: impl FnOnce(&mut Buffers) -> T) -> T {
    work(&mut BUFFERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Makes room for `length` bytes and tells where, 0 where the memory has no such room; what was there is gone.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|buffers| {
        buffers.input = Vec::new();
        // A panic here would leave the buffers locked for good.
        if buffers.input.try_reserve_exact(length).is_err() {
            return core::ptr::null_mut();
        }
        buffers.input.resize(length, 0);
        buffers.input.as_mut_ptr()
    })
}

/// Checks the bundle and returns how long the verdict is, JSON as `docs/proof-format.md` describes it; 0 where the
/// lengths are not those of the input, or where the anchor is none.
#[unsafe(no_mangle)]
pub extern "C" fn check(bundle_length: usize, anchor_length: usize) -> usize {
    with(|buffers| {
        buffers.output = verdict(&buffers.input, bundle_length, anchor_length).unwrap_or_default().into_bytes();
        buffers.output.len()
    })
}

/// Where the last verdict stands.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|buffers| buffers.output.as_ptr())
}

fn verdict(input: &[u8], bundle_length: usize, anchor_length: usize) -> Option<String> {
    let (bundle, anchor) = input.split_at_checked(bundle_length)?;
    let anchor = if anchor.len() == anchor_length { core::str::from_utf8(anchor).ok()? } else { return None };
    let anchor = if anchor.is_empty() { None } else { Some(parse_anchor(anchor)?) };
    Some(check_proof(bundle, anchor).to_json())
}

fn parse_anchor(text: &str) -> Option<(LedgerSeq, LedgerHash)> {
    let (ledger, hash) = text.split_once(':')?;
    Some((ledger.parse().ok()?, hash.parse().ok()?))
}
