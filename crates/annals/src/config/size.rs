//! Numbers of bytes as people write them: `536870912`, `512MiB`, `2GiB`.

const UNITS: [(&str, u32); 4] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

/// Reads a number of bytes; a unit is a power of 1024.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let unit = UNITS.into_iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, bits)));
    let (digits, bits) = unit.unwrap_or((text, 0));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_and_without_a_unit() {
        for (text, bytes) in
            [("0", 0), ("1024", 1024), ("3KiB", 3072), ("512MiB", 512 << 20), ("2GiB", 2 << 30), ("1TiB", 1 << 40)]
        {
            assert_eq!(parse_bytes(text), Some(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_of_bytes_is_refused() {
        for text in
            ["", "GiB", "-1", "+1", "1.5GiB", "1 GiB", "1GB", "1gib", "1G", "99999999TiB", "18446744073709551616"]
        {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
