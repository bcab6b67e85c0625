//! Checkpoints of history archives.

use std::fs;

use annals::anchor::AnchorError;
use annals::source::{LakeOptions, LakeSource, LedgerSource as _};
use annals::store::{AnchorKind, Store as _};
use annals_core::{LedgerSeq, Network};
use annals_sim::archive::{header_entry_xdr, write_checkpoint};

use super::bench::*;
use crate::fill::bench::{Bench, job, range, seq};
use crate::remote_lake::server::{LakeServer, Reply};
use crate::rpc::bench::network;

#[test]
fn a_checkpoint_anchors_exactly_the_ledgers_that_link_up_to_it() {
    let network = network(1, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let published = Published::of(&network);
    let witnesses = witnesses(&[published.server.url()], &[]);
    assert!(witnesses.can_confirm());
    assert_eq!(hangs_on(&bench, 100, 100), "source");
    let anchored = checked(&bench, &witnesses);
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![("history-archive", 191)], vec![]));
    assert_eq!(anchored.recorded[0].said_by, published.server.url());
    for from in 100..=LAST {
        for to in [from, 191, 192, LAST].into_iter().filter(|to| *to >= from) {
            let expected = if to <= 191 { "history-archive" } else { "source" };
            assert_eq!(hangs_on(&bench, from, to), expected, "{from}-{to}");
        }
    }
    let before = published.asked(0);
    assert_eq!(checked(&bench, &witnesses), annals::anchor::Anchored::default(), "it is confirmed already");
    assert_eq!((before, published.asked(before)), (1, 0), "and not asked for again");
}

#[test]
fn a_gap_between_breaks_what_a_checkpoint_says_of_the_ledgers_below() {
    let network = network(2, 101);
    let bench = filled(&network, &[(100, 150), (160, LAST)]);
    let published = Published::of(&network);
    let low = published.folder().join(annals_sim::archive::checkpoint_path(seq(127)));
    let witnesses = witnesses(&[published.server.url()], &[]);
    // The one file holds the newest ledgers of both chains that the archive has come to.
    fs::remove_file(low).unwrap();
    assert_eq!(recorded(&checked(&bench, &witnesses)), [("history-archive", 191), ("history-archive", 150)]);
    assert_eq!((hangs_on(&bench, 100, 150), hangs_on(&bench, 160, 191)), ("history-archive", "history-archive"));
    assert_eq!(hangs_on(&bench, 100, 191), "source");

    let bench = filled(&network, &[(100, 120), (160, LAST)]);
    let anchored = checked(&bench, &witnesses);
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![("history-archive", 191)], vec!["NOT_IN_ARCHIVE"]));
    assert_eq!((hangs_on(&bench, 100, 120), hangs_on(&bench, 160, 191)), ("source", "history-archive"));
    bench.run(
        &crate::rpc::bench::whole_job(&network, 100, LAST),
        &crate::fill::bench::ScriptedSource::of(&ledgers(&network)),
    );
    assert_eq!(hangs_on(&bench, 100, 191), "history-archive", "the gap is filled, and links");
}

#[test]
fn another_hash_contradicts_and_nothing_is_recorded() {
    let mut network = network(3, 60);
    let mut fork = network.forked(9);
    network.close_many(41);
    fork.close_many(41);
    let bench = filled(&network, &[(100, LAST)]);
    let published = Published::of(&fork);
    let witnesses = witnesses(&[published.server.url()], &[]);
    let before = bench.store.status().unwrap();
    for _ in 0..2 {
        let error = try_check(&bench, &witnesses).unwrap_err();
        let AnchorError::Contradicted { ledger, said_by, incident, .. } = &error else { panic!("{error}") };
        assert_eq!((ledger.get(), said_by.as_str(), *incident), (191, published.server.url().as_str(), None));
        assert_eq!((error.code(), error.contradicts_chain()), ("ANCHOR_CONTRADICTED", true));
    }
    assert_eq!(bench.store.status().unwrap(), before);
    assert_eq!(bench.store.anchors(AnchorKind::HistoryArchive, LedgerSeq::MIN, 9).unwrap(), []);
}

#[test]
fn witnesses_that_do_not_answer_are_told_and_no_more() {
    let network = network(4, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let published = Published::of(&network);
    let nobody = "http://127.0.0.1:1".to_owned();
    let anchored = checked(&bench, &witnesses(&[nobody.clone(), published.server.url()], &[]));
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![("history-archive", 191)], vec!["UNREADABLE_OBJECT"]));
    assert_eq!(anchored.unheard[0].witness, nobody);
    for (reply, code) in [
        (Reply::status(404, ""), "UNREADABLE_OBJECT"),
        (Reply::status(500, ""), "UNREADABLE_OBJECT"),
        (Reply::Body(b"<html>".to_vec()), "UNREADABLE_OBJECT"),
        (Reply::Body(br#"{"currentLedger":0}"#.to_vec()), "UNREADABLE_OBJECT"),
        (Reply::Body(vec![b' '; 2 << 20]), "OBJECT_TOO_LARGE"),
        (Reply::Body(br#"{"currentLedger":191,"networkPassphrase":"Another"}"#.to_vec()), "OTHER_NETWORK"),
        (Reply::Body(br#"{"currentLedger":255}"#.to_vec()), "NOT_IN_ARCHIVE"),
    ] {
        let bench = filled(&network, &[(100, LAST)]);
        published.server.play(move |path, _| path.contains("well-known").then(|| reply.clone()));
        let anchored = checked(&bench, &witnesses(&[published.server.url()], &[]));
        assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![], vec![code]));
    }
}

#[test]
fn an_archive_that_has_come_less_far_than_what_is_stored_says_nothing_of_it() {
    let network = network(5, 101);
    let bench = filled(&network, &[(195, LAST)]);
    let published = Published::of(&network);
    let anchored = checked(&bench, &witnesses(&[published.server.url()], &[]));
    assert_eq!(anchored, annals::anchor::Anchored::default());
    assert_eq!(published.asked(0), 0);
    let nothing = Bench::new();
    assert_eq!(checked(&nothing, &witnesses(&[published.server.url()], &[])), annals::anchor::Anchored::default());
}

#[test]
fn headers_of_real_ledgers_are_read_as_archives_hold_them() {
    let Some(shared) = crate::shared::ledgers() else { return };
    let source = LakeSource::open(shared.join("pubnet-p26-lake"), LakeOptions::default()).unwrap();
    let pubnet = Network::preset("pubnet").unwrap();
    let bench = Bench::new();
    let of = annals::backfill::Job { network: pubnet, ..job(63_092_982, 63_092_990) };
    bench.run(&of, &source);
    let objects = source.open(range(63_092_982, 63_092_991)).unwrap();
    let raw = objects.flat_map(|object| object.unwrap().into_ledgers().unwrap());
    let entries: Vec<Vec<u8>> = raw.map(|ledger| header_entry_xdr(&ledger.bytes)).collect();
    let folder = tempfile::tempdir().unwrap();
    write_checkpoint(folder.path(), seq(63_092_991), &entries).unwrap();
    let server = LakeServer::start(folder.path());
    let state = br#"{"currentLedger":63092991}"#.to_vec();
    server.play(move |path, _| path.contains("well-known").then(|| Reply::Body(state.clone())));
    let anchored = checked(&bench, &witnesses(&[server.url()], &[]));
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![("history-archive", 63_092_990)], vec![]));
}
