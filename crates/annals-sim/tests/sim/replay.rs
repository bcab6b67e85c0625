use annals_core::hash::sha256;
use annals_sim::Rng;

use super::{FORMS, chain};

/// sha256 over all ledgers of seed 7 in each form. A change here changes every generated ledger.
const SEED_7: [&str; 13] = [
    "53f16cd78128f988be4e0d33223c9ea4eb3ed5dc7c4810ce7cb3e76c457df0cd",
    "9ec7c04bb8960e5e2847c35fee1602ac4f615d5857a7397419bfda37597cd91d",
    "716d566f0ac78dd6b0af05e86568c6fec4ba842161779b87e1c699d6aabcbcf6",
    "3b7b13ac0397f4adb52ab886f9fd553f4d40e4029d0fc38db9d520bd259862f3",
    "8a52f44dc8603e0787eeeadb2398bf5582a7fdeca8928fc6880ad7e2595ebd53",
    "81efeb16aab8e73f7c0df576add42237b253f3594e8f9f3b9c06e7c0fc542652",
    "ba383fe93b3900fb38d7a9d846f4513a80b6f149f8dbc13c24ca7c811435a8e4",
    "5d0ac915cf61a400035cd47b5e0df8752f81b9fa24f7e7669ca8c0dd17f3d224",
    "0498246b47061f7b0607ad3f9f2b8b79e943fb77dd78ba8d53fd57c50f92a011",
    "798023e04acdc8a704738819609a47c4020d0ed357473883778de40fa243684d",
    "cf0ffec9208654560f0c7c88d7de36b09980ccd3f8872d7a1837d9e5faa942ce",
    "57d75ffbc47d99d645d71277a7c500cdec0d5efa48cfed4ede544b5908e9af1b",
    "a48b7b4b9d3bfdb79498c6dc8b93f1ef26fcc90da46d42625272de0118815b36",
];

#[test]
fn a_seed_gives_the_same_bytes_on_every_platform() {
    let digests = FORMS.map(|(format, protocol)| {
        let ledgers = chain(format, protocol, 7, 60);
        hex::encode(sha256(&ledgers.iter().map(|ledger| ledger.xdr.as_slice()).collect::<Vec<_>>()))
    });
    assert_eq!(digests, SEED_7);
}

#[test]
fn two_seeds_share_no_hash() {
    let (format, protocol) = FORMS[10];
    let (one, two) = (chain(format, protocol, 1, 20), chain(format, protocol, 2, 20));
    assert!(one.iter().all(|ledger| two.iter().all(|other| other.hash != ledger.hash)));
}

#[test]
fn the_generator_is_splitmix64() {
    let mut rng = Rng::new(1_234_567);
    let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([rng.bits(), rng.bits(), rng.bits()], numbers);
}
