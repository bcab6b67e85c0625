//! Bytes that nobody vouches for: damaged at random and at every place.

use annals_core::check::prove_stored;
use annals_core::decode::HeaderView;
use annals_core::{CheckedLedger, Event, check_ledger};
use annals_sim::{BuiltLedger, Rng, random_chain};

use crate::built::{check_built, first, mixes, network};

/// The ledgers to damage: each format and protocol, full of events of each class.
fn ledgers(count: u32) -> Vec<BuiltLedger> {
    mixes().into_iter().flat_map(|mix| random_chain(&network(), first(), 11, count, mix)).collect()
}

/// What a proven event says, apart from the rewritten form beside it and from which of the two proven classes it has:
/// a damaged committed event whose original stands in the diagnostics is a rewritten one.
fn proven(ledger: &CheckedLedger) -> Vec<Event> {
    let events = ledger.events.iter().filter(|event| event.proof.is_proven());
    events
        .map(|event| Event { proof: annals_core::ProofClass::Committed, rewritten_xdr: None, ..event.clone() })
        .collect()
}

/// Checks damaged bytes; whether they were accepted. Nothing that a header commits to may be another then.
fn check_damaged(bytes: &[u8], original: &CheckedLedger) -> bool {
    let Ok(ledger) = check_ledger(bytes, &network()) else { return false };
    assert_eq!((ledger.seq, ledger.hash), (original.seq, original.hash));
    assert_eq!(ledger.header_xdr, original.header_xdr);
    assert_eq!((ledger.previous_hash, ledger.close_time_ms), (original.previous_hash, original.close_time_ms));
    assert_eq!(proven(&ledger), proven(original), "what is proven is neither altered, moved, hidden nor added to");
    assert_eq!(ledger.proof.results_xdr, original.proof.results_xdr);
    let header = HeaderView::parse(&ledger.header_xdr).unwrap();
    let count = prove_stored(&header, &ledger.proof, &network()).unwrap().len();
    assert_eq!(count, proven(original).len());
    true
}

/// Damages bytes in one of the ways in which bytes get damaged, or are forged.
fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let words = u32::try_from(bytes.len() / 4).unwrap();
    let place = |rng: &mut Rng| rng.below(words) as usize * 4;
    match rng.below(8) {
        0..3 => {
            let at = rng.below(words * 4) as usize;
            bytes[at] ^= 1 + u8::try_from(rng.below(255)).unwrap();
        }
        3 => {
            let at = place(rng);
            let word = [0, 1, 2, 3, 0x7FFF_FFFF, u32::MAX, rng.below(u32::MAX)][rng.below(7) as usize];
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        4 => bytes.truncate(rng.below(words * 4) as usize),
        5 => {
            let at = place(rng);
            drop(bytes.drain(at..at + 4));
        }
        6 => {
            let (from, to) = (place(rng), place(rng));
            let length = (4 * (1 + rng.below(40) as usize)).min(bytes.len() - from.max(to));
            bytes.copy_within(from..from + length, to);
        }
        _ => {
            let (from, to) = (place(rng), place(rng));
            let length = (4 * (1 + rng.below(40) as usize)).min(bytes.len() - from);
            let copied = bytes[from..from + length].to_vec();
            bytes.splice(to..to, copied);
        }
    }
}

#[test]
fn no_damage_panics_and_none_that_is_accepted_changes_what_is_proven() {
    let mut rng = Rng::new(5);
    let (mut accepted, mut refused) = (0, 0);
    for built in ledgers(12) {
        let original = check_built(&built);
        for _ in 0..250 {
            let mut bytes = built.xdr.clone();
            damage(&mut bytes, &mut rng);
            if rng.chance(20) && !bytes.is_empty() {
                bytes.resize(bytes.len().next_multiple_of(4).max(4), 0);
                damage(&mut bytes, &mut rng);
            }
            if bytes == built.xdr {
                continue;
            }
            *if check_damaged(&bytes, &original) { &mut accepted } else { &mut refused } += 1;
        }
    }
    assert!(accepted > 500 && refused > 10_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_single_byte_of_a_ledger_may_be_another() {
    let mut accepted = 0;
    for mix in mixes() {
        let chain = random_chain(&network(), first(), 4, 20, annals_sim::Mix { events_per_ledger: 6, ..mix });
        let fullest = |built: &BuiltLedger| built.events.iter().filter(|event| event.proof.is_proven()).count();
        let built = chain.filter(|built| built.xdr.len() < 9000).max_by_key(fullest).unwrap();
        let original = check_built(&built);
        assert_eq!(original.census.committed > 0, mix.format.has_contracts());
        let mut bytes = built.xdr.clone();
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            accepted += usize::from(check_damaged(&bytes, &original));
            bytes[at] ^= 1;
        }
        // A count, a length or a discriminant of all ones asks for more than there is and is given nothing.
        for at in (0..bytes.len()).step_by(4) {
            let word: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            bytes[at..at + 4].copy_from_slice(&[0xFF; 4]);
            accepted += usize::from(check_damaged(&bytes, &original));
            bytes[at..at + 4].copy_from_slice(&word);
        }
    }
    assert!(accepted > 100, "much of a ledger is covered by no hash: {accepted}");
}

#[test]
fn noise_is_no_ledger() {
    let mut rng = Rng::new(9);
    for length in 0..600 {
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(rng.below(256)).unwrap()).collect();
        assert_eq!(check_ledger(&bytes, &network()).unwrap_err().code(), "UNDECODABLE_LEDGER");
    }
}
