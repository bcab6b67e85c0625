//! Files of archives that lie or are broken.

use std::fs;
use std::io::{Read as _, Write as _};

use annals_sim::SimNetwork;
use annals_sim::archive::{header_entry_xdr, write_checkpoint};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::bench::*;
use crate::fill::bench::{Bench, seq};
use crate::rpc::bench::network;

/// What is changed among the entries of a file.
type Lie<'a> = dyn Fn(&mut Vec<Vec<u8>>) + 'a;

/// The entries of ledgers 128 to 191.
fn entries(network: &SimNetwork) -> Vec<Vec<u8>> {
    let of_file = ledgers(network).into_iter().filter(|ledger| (128..=191).contains(&ledger.seq.get()));
    of_file.map(|ledger| header_entry_xdr(&ledger.xdr)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Requires that of the file, as it is now, nothing is believed.
#[track_caller]
fn disbelieved(bench: &Bench, published: &Published, code: &str) {
    let anchored = checked(bench, &witnesses(&[published.server.url()], &[]));
    assert_eq!((recorded(&anchored), unheard(&anchored)), (vec![], vec![code]), "{anchored:?}");
    assert_eq!(hangs_on(bench, 100, 150), "source");
}

#[test]
fn a_file_whose_headers_contradict_themselves_or_its_name_is_never_believed() {
    let mut network = network(1, 60);
    let mut fork = network.forked(9);
    network.close_many(41);
    fork.close_many(41);
    let bench = filled(&network, &[(100, LAST)]);
    let published = Published::of(&network);
    let (sound, forked) = (entries(&network), entries(&fork));
    let write = |lie: &Lie<'_>| {
        let mut entries = sound.clone();
        lie(&mut entries);
        write_checkpoint(published.folder(), seq(191), &entries).unwrap();
    };
    for at in [0, 30, 63] {
        write(&|entries| entries[at][5] ^= 1);
        disbelieved(&bench, &published, "INCONSISTENT_OBJECT");
        write(&|entries| entries[at][40] ^= 1);
        disbelieved(&bench, &published, "INCONSISTENT_OBJECT");
    }
    let lies: [(&Lie<'_>, &str); 9] = [
        (&|entries| entries[62] = forked[62].clone(), "INCONSISTENT_OBJECT"),
        (&|entries| entries[63] = forked[63].clone(), "INCONSISTENT_OBJECT"),
        (&|entries| entries.swap(10, 11), "INCONSISTENT_OBJECT"),
        (&|entries| _ = entries.remove(20), "INCONSISTENT_OBJECT"),
        (&|entries| _ = entries.pop(), "MISNAMED_OBJECT"),
        (&|entries| entries.truncate(1), "MISNAMED_OBJECT"),
        (&|entries| entries.clear(), "EMPTY_OBJECT"),
        (&|entries| entries[63].extend([0; 4]), "UNDECODABLE_OBJECT"),
        (&|entries| *entries[63].last_mut().unwrap() = 1, "TRAILING_BYTES"),
    ];
    for (lie, code) in lies {
        write(lie);
        disbelieved(&bench, &published, code);
    }
    let low = published.folder().join(annals_sim::archive::checkpoint_path(seq(127)));
    fs::copy(low, published.file()).unwrap();
    disbelieved(&bench, &published, "MISNAMED_OBJECT");
    write(&|_| {});
    let anchored = checked(&bench, &witnesses(&[published.server.url()], &[]));
    assert_eq!(recorded(&anchored), [("history-archive", 191)], "and without a lie it is believed");
}

#[test]
fn a_file_that_is_cut_off_swollen_or_no_gzip_is_never_believed() {
    let network = network(2, 101);
    let bench = filled(&network, &[(100, LAST)]);
    let published = Published::of(&network);
    let sound = fs::read(published.file()).unwrap();
    let mut plain = Vec::new();
    GzDecoder::new(sound.as_slice()).read_to_end(&mut plain).unwrap();
    let bomb = gzip(&vec![0; 512 << 20]);
    assert!(bomb.len() < 1 << 20, "it passes as a file");
    let flipped = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    for (file, code) in [
        (sound[..sound.len() / 2].to_vec(), "TRUNCATED_OBJECT"),
        (sound[..sound.len() - 1].to_vec(), "TRUNCATED_OBJECT"),
        (sound[..5].to_vec(), "TRUNCATED_OBJECT"),
        (bomb, "OBJECT_TOO_LARGE"),
        (vec![0; 2 << 20], "OBJECT_TOO_LARGE"),
        (flipped(sound.len() - 6), "UNDECODABLE_OBJECT"),
        ([sound.as_slice(), &[0]].concat(), "TRAILING_BYTES"),
        ([sound.as_slice(), sound.as_slice()].concat(), "TRAILING_BYTES"),
        (b"not found".to_vec(), "NOT_A_FRAME"),
        (Vec::new(), "EMPTY_OBJECT"),
        (gzip(&plain[..plain.len() - 1]), "TRUNCATED_OBJECT"),
        (gzip(&[0xff; 4]), "TRUNCATED_OBJECT"),
    ] {
        fs::write(published.file(), file).unwrap();
        disbelieved(&bench, &published, code);
    }
    // What a server has decompressed by itself is the same file.
    fs::write(published.file(), plain).unwrap();
    assert_eq!(recorded(&checked(&bench, &witnesses(&[published.server.url()], &[]))), [("history-archive", 191)]);
}
