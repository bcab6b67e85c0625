use super::*;
use crate::digest::EventsDigest;
use crate::ledger::{Census, ClassicEvents, NetworkProof};
use crate::proof::ProofMaterial;

fn seq(number: u32) -> LedgerSeq {
    LedgerSeq::new(number).unwrap()
}

/// A ledger named by a letter: equal letters chain.
fn ledger(number: u32, hash: char, previous: char) -> Box<CheckedLedger> {
    let name = |letter: char| LedgerHash([letter as u8; 32]);
    Box::new(CheckedLedger {
        seq: seq(number),
        hash: name(hash),
        previous_hash: name(previous),
        close_time_ms: 0,
        protocol: 26,
        header_xdr: Vec::new(),
        network_proof: NetworkProof::Proven,
        classic_events: ClassicEvents::Present,
        census: Census::default(),
        digest: EventsDigest([0; 32]),
        creations: Vec::new(),
        events: Vec::new(),
        proof: ProofMaterial { results_xdr: Vec::new(), invocations: Vec::new() },
    })
}

fn neighbours(before: Option<char>, after: Option<char>) -> Neighbours {
    let name = |letter: char| LedgerHash([letter as u8; 32]);
    Neighbours { before: before.map(name), after: after.map(name) }
}

/// Runs ledgers 10… through a chain over 10–19 (or as long as they are) and writes the outcome as text: `10+` accepted,
/// `11-` refused; a `None` is a ledger that is not to be had.
fn outcome(before: Option<char>, after: Option<char>, ledgers: &[Option<(char, char)>]) -> String {
    let last = 9 + u32::try_from(ledgers.len()).unwrap();
    let range = LedgerRange::new(seq(10), seq(last)).unwrap();
    let mut chain = Chain::new(range, neighbours(before, after));
    let mut out = Vec::new();
    for (number, item) in (10..).zip(ledgers) {
        assert_eq!(chain.expected(), Some(seq(number)));
        match item {
            Some((hash, previous)) => chain.push(ledger(number, *hash, *previous), (), &mut out),
            None => chain.skip(seq(number), &mut out),
        }
    }
    assert_eq!(chain.expected(), None);
    chain.finish(&mut out);
    let text: Vec<String> = out
        .iter()
        .map(|verdict| match verdict {
            Verdict::Accepted(ledger, ()) => format!("{}+", ledger.seq),
            Verdict::Refused(seq, ChainFault::DoesNotLink { lower, upper }, ()) => format!("{seq}-({lower},{upper})"),
            Verdict::Refused(seq, ChainFault::ContradictsStored { stored }, ()) => format!("{seq}!{stored}"),
            Verdict::Severed(Severance { between, below, last, .. }) => {
                format!("{between}/{}{}", below.0[0] as char, last.0[0] as char)
            }
        })
        .collect();
    text.join(" ")
}

#[test]
fn a_run_that_links_is_accepted_whole_and_in_order() {
    assert_eq!(outcome(None, None, &[Some(('b', 'a')), Some(('c', 'b')), Some(('d', 'c'))]), "10+ 11+ 12+");
    assert_eq!(outcome(Some('a'), Some('c'), &[Some(('b', 'a')), Some(('c', 'b'))]), "10+ 11+");
}

#[test]
fn a_ledger_whose_successor_links_on_without_it_is_the_gap() {
    // Ledger 11 was re-hashed: 12 names the hash it had before, and 13 links on to 12.
    let run = [Some(('b', 'a')), Some(('X', 'b')), Some(('d', 'c')), Some(('e', 'd'))];
    assert_eq!(outcome(None, None, &run), "10+ 11-(11,12) 12+ 13+");
}

#[test]
fn another_chains_ledger_in_the_middle_is_the_gap_and_its_neighbours_are_kept() {
    let run = [Some(('b', 'a')), Some(('X', 'Y')), Some(('d', 'c')), Some(('e', 'd'))];
    assert_eq!(outcome(None, None, &run), "10+ 11-(10,11) 12+ 13+");
}

#[test]
fn where_nothing_follows_that_could_tell_both_are_refused() {
    assert_eq!(outcome(None, None, &[Some(('b', 'a')), Some(('d', 'X'))]), "10-(10,11) 11-(10,11)");
    let cut = [Some(('b', 'a')), Some(('d', 'X')), None, Some(('f', 'e'))];
    assert_eq!(outcome(None, None, &cut), "10-(10,11) 11-(10,11) 13+");
}

#[test]
fn the_stored_ledger_above_tells_which_of_the_last_two_is_at_fault() {
    assert_eq!(outcome(None, Some('d'), &[Some(('b', 'a')), Some(('d', 'X'))]), "10-(10,11) 11+");
    assert_eq!(outcome(None, Some('e'), &[Some(('b', 'a')), Some(('c', 'b'))]), "10+ 11!12");
}

#[test]
fn a_run_that_contradicts_the_stored_ledger_below_is_refused_as_long_as_it_links_on() {
    let fork = [Some(('B', 'A')), Some(('C', 'B')), Some(('d', 'c')), Some(('e', 'd'))];
    assert_eq!(outcome(Some('a'), None, &fork), "10!9 11!9 12+ 13+");
    assert_eq!(outcome(Some('a'), None, &[Some(('B', 'A'))]), "10!9");
}

#[test]
fn a_run_that_links_up_to_the_stored_ledger_above_and_not_to_the_one_below_proves_that_those_two_do_not_belong_together()
 {
    let run = [Some(('B', 'A')), Some(('C', 'B')), Some(('D', 'C'))];
    assert_eq!(outcome(Some('a'), Some('D'), &run), "10!9 11!9 12!9 10-12/AD");
    assert_eq!(outcome(Some('a'), Some('B'), &run[..1]), "10!9 10/AB");
    assert_eq!(outcome(Some('a'), Some('d'), &run), "10!9 11!9 12!9", "it hangs on nothing");
    let broken = [run[0], Some(('C', 'X')), run[2]];
    assert_eq!(outcome(Some('a'), Some('D'), &broken), "10!9 11+ 12+", "nothing ties the first to the last");
    assert_eq!(outcome(Some('a'), Some('D'), &[run[0], None, run[2]]), "10!9 12+");
}

#[test]
fn a_hole_ends_the_run_before_it() {
    let run = [Some(('b', 'a')), None, None, Some(('e', 'd')), Some(('f', 'e'))];
    assert_eq!(outcome(Some('a'), Some('f'), &run), "10+ 13+ 14+");
}

#[test]
fn a_jump_over_expected_ledgers_ends_the_run_like_a_hole() {
    let range = LedgerRange::new(seq(10), seq(20)).unwrap();
    let mut chain = Chain::new(range, Neighbours::default());
    let mut out = Vec::new();
    chain.push(ledger(10, 'b', 'a'), (), &mut out);
    chain.push(ledger(15, 'X', 'Y'), (), &mut out);
    assert!(matches!(out.as_slice(), [Verdict::Accepted(first, ())] if first.seq == seq(10)));
    chain.finish(&mut out);
    assert_eq!(out.len(), 2);
}

#[test]
fn inv_4_no_two_accepted_neighbours_fail_to_link_whatever_the_source_gives() {
    // Every run of five ledgers in which each either links, is re-hashed, is foreign or is missing.
    for code in 0..4_u32.pow(5) {
        let mut run = Vec::new();
        for at in 0..5_u8 {
            let (good, previous) = ((b'b' + at) as char, (b'a' + at) as char);
            run.push(match code / 4_u32.pow(u32::from(at)) % 4 {
                0 => Some((good, previous)),
                1 => Some((good.to_ascii_uppercase(), previous)),
                2 => Some((good.to_ascii_uppercase(), 'Z')),
                _ => None,
            });
        }
        let text = outcome(Some('a'), Some('f'), &run);
        let accepted: Vec<u32> =
            text.split(' ').filter_map(|word| word.strip_suffix('+')).map(|number| number.parse().unwrap()).collect();
        for pair in accepted.windows(2).filter(|pair| pair[0] + 1 == pair[1]) {
            let at = |number: u32| run[(number - 10) as usize].unwrap();
            assert_eq!(at(pair[1]).1, at(pair[0]).0, "{code}: {text}");
        }
        for (number, stored, ends) in [(10, 'a', 1), (14, 'f', 0)] {
            if let Some((hash, previous)) = run[number - 10]
                && accepted.contains(&u32::try_from(number).unwrap())
            {
                assert_eq!(if ends == 1 { previous } else { hash }, stored, "{code}: {text}");
            }
        }
        // Whatever came is either accepted or refused, once.
        let words = text.split(' ').filter(|word| !word.is_empty()).count();
        assert_eq!(words, run.iter().flatten().count(), "{code}: {text}");
    }
}
