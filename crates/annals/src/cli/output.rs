//! What a verb reports on stdout.

use std::fmt::Display;
use std::io::{self, Write as _};

use serde::Serialize;

use super::error::CliError;

/// Stdout, for people or for programs.
pub(super) struct Output {
    is_json: bool,
}

impl Output {
    pub fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// Whether a program reads.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Writes one line.
    pub fn line(&self, line: impl Display) -> Result<(), CliError> {
        writeln!(io::stdout().lock(), "{line}").map_err(CliError::Output)
    }

    /// Writes one object on one line.
    pub fn object(&self, object: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string(object).map_err(|error| CliError::Output(error.into()))?;
        self.line(text)
    }
}

/// How many of a long list people are told by name; programs get all.
const NAMED_MAX: usize = 10;

/// A line for each of the first of `names`, and one that counts the rest.
pub(super) fn few<'a>(names: &'a [String], line: impl Fn(&str) -> String + 'a) -> impl Iterator<Item = String> + 'a {
    let rest = names.len().saturating_sub(NAMED_MAX);
    let rest = (rest > 0).then(|| line(&format!("{} more", grouped(rest as u64))));
    names.iter().take(NAMED_MAX).map(move |name| line(name)).chain(rest)
}

/// Writes a number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_list_the_first_are_named_and_the_rest_counted() {
        let told = |count: usize| few(&vec!["C".to_owned(); count], |name| format!("{name} waits")).collect::<Vec<_>>();
        assert_eq!(told(0), Vec::<String>::new());
        assert_eq!(told(NAMED_MAX), vec!["C waits"; NAMED_MAX]);
        assert_eq!(
            (told(NAMED_MAX + 1200).len(), told(NAMED_MAX + 1200)[NAMED_MAX].as_str()),
            (11, "1,200 more waits")
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 63_092_982].map(grouped), ["0", "999", "1,000", "63,092,982"]);
    }
}
