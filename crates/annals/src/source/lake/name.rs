//! The names of a lake's objects and partitions (SEP-54, "Object key format").

use annals_core::{LedgerRange, LedgerSeq};

/// What a name says: `<HEX>--<first>[-<last>]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// The number in front, which makes newer names sort first.
    reversed: u32,
    /// The first ledger, as written: 0 where a lake's first object or partition is counted from 0.
    pub(super) first: u64,
    /// The last ledger, as written.
    pub(super) last: u64,
}

impl Name {
    /// Reads the name of an object; none when it is not of an object's form.
    pub(super) fn of_object(file_name: &str) -> Option<Self> {
        Self::of_stem([".xdr.zst", ".xdr.zstd"].iter().find_map(|ending| file_name.strip_suffix(ending))?)
    }

    /// Reads the name of an object without its ending.
    pub(super) fn of_stem(stem: &str) -> Option<Self> {
        let (reversed, numbers) = split_reversed(stem)?;
        let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
        Some(Self { reversed, first: number(first)?, last: number(last)? })
    }

    /// Reads the name of a partition; none when it is not of a partition's form.
    pub(super) fn of_partition(folder_name: &str) -> Option<Self> {
        let (reversed, numbers) = split_reversed(folder_name)?;
        let (first, last) = numbers.split_once('-')?;
        Some(Self { reversed, first: number(first)?, last: number(last)? })
    }

    /// What is wrong with the name in itself.
    pub(super) fn contradiction(self) -> Option<&'static str> {
        if self.first > self.last {
            Some("its first ledger lies above its last")
        } else if u64::from(u32::MAX - self.reversed) != self.first {
            Some("the number in front does not belong to its first ledger")
        } else if self.last > u64::from(LedgerSeq::MAX.get()) {
            Some("it goes beyond the last possible ledger")
        } else {
            None
        }
    }

    /// The ledgers that the name lays claim to, whether or not it is right; none when it names no possible ledger.
    ///
    /// Where ledgers are counted from 0 the claim begins with 2: no network exports 0, and Galexie exports no 1.
    pub(super) fn claim(self) -> Option<LedgerRange> {
        let (low, high) = (self.first.min(self.last), self.first.max(self.last));
        let low = if low == 0 { high.min(u64::from(LedgerSeq::FIRST_EXPORTED.get())) } else { low };
        let seq = |number: u64| LedgerSeq::new(u32::try_from(number).ok()?).ok();
        LedgerRange::new(seq(low)?, seq(high.min(u64::from(LedgerSeq::MAX.get())))?).ok()
    }

    /// Whether `other` lies within this name's ledgers.
    pub(super) fn holds(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// How many ledgers a name without a contradiction promises; those counted from 0 count 0 and 1 with them.
    pub(super) fn ledgers(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

fn split_reversed(stem: &str) -> Option<(u32, &str)> {
    let (hex, numbers) = stem.split_once("--")?;
    let is_hex = hex.len() == 8 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    let reversed = is_hex.then(|| u32::from_str_radix(hex, 16).ok())??;
    Some((reversed, numbers))
}

/// A whole number without a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str) -> Option<String> {
        Name::of_object(name).and_then(Name::claim).map(|range| range.to_string())
    }

    #[test]
    fn the_names_of_real_lakes_are_read() {
        let partition = Name::of_partition("FC7E89FF--58816000-58879999").unwrap();
        let object = Name::of_object("FC7E8667--58816920.xdr.zst").unwrap();
        assert_eq!((partition.contradiction(), object.contradiction()), (None, None));
        assert!(partition.holds(object));
        assert_eq!((partition.ledgers(), object.ledgers()), (64_000, 1));
        assert_eq!(claim("FCD285FF--53312000.xdr.zstd").unwrap(), "53312000");
        assert_eq!(claim("FFFFFFBF--64-127.xdr.zst").unwrap(), "64-127");
    }

    #[test]
    fn what_has_another_form_is_no_object() {
        for other in [
            ".config.json",
            "README",
            "FFFFFFBF--64-127.xdr",
            "FFFFFFBF--64-127.xdr.gz",
            "ffffffbf--64-127.xdr.zst",
            "FFFFFFBF-64.xdr.zst",
            "FFFFFFBF--+64.xdr.zst",
            "FFFFFFBF--.xdr.zst",
            "FFFFFFBF--64-.xdr.zst",
            "FFFFFFBF--64-65-66.xdr.zst",
            "+FFFFFBF--64.xdr.zst",
            "FFFFFFBF--64.xdr.zst.part",
            "é--1.xdr.zst",
        ] {
            assert_eq!(Name::of_object(other), None, "{other}");
        }
        assert_eq!(Name::of_partition("FFFFFFBF--64"), None);
    }

    #[test]
    fn a_name_counted_from_0_claims_the_ledgers_from_2_on() {
        assert_eq!(claim("FFFFFFFF--0-63.xdr.zst").unwrap(), "2-63");
        assert_eq!(claim("FFFFFFFF--0-1.xdr.zst").unwrap(), "1");
        assert_eq!(claim("FFFFFFFF--0.xdr.zst"), None);
    }

    #[test]
    fn a_name_that_contradicts_itself_still_lays_claim_to_its_ledgers() {
        for (name, claimed) in [
            ("FFFFFFBE--64-127.xdr.zst", "64-127"),
            ("FFFFFF80--127-64.xdr.zst", "64-127"),
            ("80000001--2147483646-2147483700.xdr.zst", "2147483646-2147483647"),
        ] {
            assert!(Name::of_object(name).unwrap().contradiction().is_some(), "{name}");
            assert_eq!(claim(name).unwrap(), claimed);
        }
        assert_eq!(claim("00000000--4294967295.xdr.zst"), None);
        assert_eq!(claim("00000000--99999999999.xdr.zst"), None);
    }
}
