//! Base85 as the document describes it, apart from the checker's.

const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

pub fn encoded(bytes: &[u8]) -> Vec<u8> {
    let digit = |word: u32, place: u32| DIGITS[(word / 85_u32.pow(place) % 85) as usize];
    let words = bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap()));
    words.flat_map(|word| [4, 3, 2, 1, 0].map(|place| digit(word, place))).collect()
}

pub fn decoded(text: &[u8]) -> Vec<u8> {
    let value = |digit: &u8| DIGITS.iter().position(|other| other == digit).unwrap() as u32;
    let words = text.chunks(5).map(|digits| digits.iter().fold(0, |word, digit| word * 85 + value(digit)));
    words.flat_map(u32::to_be_bytes).collect()
}
