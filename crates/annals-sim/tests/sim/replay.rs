use annals_core::hash::sha256;
use annals_sim::Rng;

use super::{FORMS, chain};

/// sha256 over all ledgers of seed 7 in each form. A change here changes every generated ledger.
const SEED_7: [&str; 7] = [
    "bba6dca631e52c1f0cfdbe04a3e2ec75dfbc38e755fd2db52258c40218645739",
    "02111f58711460e9a2505fa97fbb15879642b0e07d4906626aed67c5f3e430ca",
    "d9705d81902794a02656bb3f403d5317c8a2bad2c3924ea7ef83d2bc8a65164a",
    "16f7b34361a1948f655485d9438f3412fce7c08772727277750b91c44ccf3af5",
    "9fc6b302f6bfaebe22c3c42f4b15c20146b38683316bf193b66336279b88a260",
    "f2e91ccfb55db395740af7f5ebfc86c80398fd1b578eba05d9f902a30dfa6ccc",
    "bb1649a4991aa8e919a34a4cedeeaeb9c8de9f0efed3958363f6de6cb6d8f0d5",
];

#[test]
fn a_seed_gives_the_same_bytes_on_every_platform() {
    let digests = FORMS.map(|(format, protocol)| {
        let ledgers = chain(format, protocol, 7, 20);
        hex::encode(sha256(&ledgers.iter().map(|ledger| ledger.xdr.as_slice()).collect::<Vec<_>>()))
    });
    assert_eq!(digests, SEED_7);
}

#[test]
fn two_seeds_share_no_hash() {
    let (format, protocol) = FORMS[4];
    let (one, two) = (chain(format, protocol, 1, 20), chain(format, protocol, 2, 20));
    assert!(one.iter().all(|ledger| two.iter().all(|other| other.hash != ledger.hash)));
}

#[test]
fn the_generator_is_splitmix64() {
    let mut rng = Rng::new(1_234_567);
    let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([rng.bits(), rng.bits(), rng.bits()], numbers);
}
