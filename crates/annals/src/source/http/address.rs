//! Where a server is, as it is asked and as it may be shown.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::http::Uri;

/// A part of a path that is so long and mixes digits with letters is taken for an access key.
const KEY_LEN_MIN: usize = 20;
/// A secret that is shorter is not looked for in what servers say.
const SECRET_LEN_MIN: usize = 4;

/// An `http://` or `https://` address. It is shown without user, password, query and whatever in its path looks like
/// an access key.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    uri: Uri,
    shown: String,
    /// What may be told of in no message, the longest first.
    secrets: Vec<String>,
}

/// Why a text is no address. The text itself is not told: it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is none at all.
    #[error("this is no address of a server: give it as https://host/path")]
    Unreadable,
    /// It is one of something that is not read.
    #[error("addresses of {scheme}:// are not read: give the https:// address of the same")]
    Scheme {
        /// What stands before `://`.
        scheme: String,
    },
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (scheme, _) = text.split_once("://").ok_or(AddressError::Unreadable)?;
        if scheme.is_empty() || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(AddressError::Unreadable);
        }
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(AddressError::Scheme { scheme: scheme.to_owned() });
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::Unreadable)?;
        match uri.host() {
            Some(host) if !host.is_empty() => Ok(Self { shown: shown(&uri), secrets: secrets(&uri), uri }),
            _ => Err(AddressError::Unreadable),
        }
    }

    /// The address of `path` below this one. The query stays, as where it carries a signature.
    ///
    /// # Errors
    /// [`AddressError::Unreadable`] where the two make no address.
    pub(in crate::source) fn below(&self, path: &str) -> Result<Self, AddressError> {
        let query = self.uri.query().map_or(String::new(), |query| format!("?{query}"));
        let whole = format!("{}/{path}{query}", self.uri.path().trim_end_matches('/'));
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(whole.parse().map_err(|_| AddressError::Unreadable)?);
        let uri = Uri::from_parts(parts).map_err(|_| AddressError::Unreadable)?;
        let shown = format!("{}/{path}", self.shown.trim_end_matches('/'));
        Ok(Self { shown, uri, secrets: self.secrets.clone() })
    }

    /// `words` without what is secret in the address: a server may repeat what it was asked with.
    pub(in crate::source) fn conceal(&self, words: &str) -> String {
        self.secrets.iter().fold(words.to_owned(), |words, secret| words.replace(secret, "…"))
    }

    /// The address of `path` below this one, asked with `query`, which stands behind the address's own. It is shown
    /// without either query.
    ///
    /// # Errors
    /// [`AddressError::Unreadable`] where the three make no address.
    pub(crate) fn asking(&self, path: &str, query: &str) -> Result<Self, AddressError> {
        let below = self.below(path)?;
        if query.is_empty() {
            return Ok(below);
        }
        let own = below.uri.query().map_or(String::new(), |own| format!("{own}&"));
        let mut parts = below.uri.clone().into_parts();
        let whole = format!("{}?{own}{query}", below.uri.path());
        parts.path_and_query = Some(whole.parse().map_err(|_| AddressError::Unreadable)?);
        let uri = Uri::from_parts(parts).map_err(|_| AddressError::Unreadable)?;
        Ok(Self { uri, ..below })
    }

    /// The host, as one name for all its spellings. Ports and paths of one host are one host.
    #[must_use]
    pub fn host(&self) -> String {
        self.uri.host().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

fn shown(uri: &Uri) -> String {
    let port = uri.port_u16().map_or(String::new(), |port| format!(":{port}"));
    let path = uri.path().split('/').map(|part| if is_key(part) { "…" } else { part }).collect::<Vec<_>>().join("/");
    let path = if path == "/" { "" } else { &path };
    format!("{}://{}{port}{path}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
}

/// User and password, also as they are sent (RFC 7617), the query and its values, and the keys of the path; nothing so
/// short that it would stand in any sentence.
fn secrets(uri: &Uri) -> Vec<String> {
    let user = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@')).map(|(user, _)| user);
    let basic = user.map(|user| STANDARD.encode(user));
    let password = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let query = uri.query();
    let values = query.into_iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='));
    let keys = uri.path().split('/').filter(|part| is_key(part));
    let all = user.into_iter().chain(password).chain(basic.as_deref()).chain(query);
    let all = all.chain(values.map(|(_, value)| value)).chain(keys);
    let mut secrets: Vec<String> = all.filter(|text| text.len() >= SECRET_LEN_MIN).map(str::to_owned).collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn is_key(part: &str) -> bool {
    part.len() >= KEY_LEN_MIN
        && part.bytes().any(|byte| byte.is_ascii_digit())
        && part.bytes().any(|byte| byte.is_ascii_alphabetic())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~%=+".contains(&byte))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_anything_that_may_be_secret() {
        for (text, shown) in [
            ("https://user:hidden@rpc.example:8443/v2/soroban?key=hidden", "https://rpc.example:8443/v2/soroban"),
            ("https://rpc.example/5f4dcc3b5aa765d61d8327deb882cf99/", "https://rpc.example/…/"),
            ("https://rpc.example/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "https://rpc.example/…"),
            ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
            ("http://[::1]:8000", "http://[::1]:8000"),
            (
                "https://a.example/aws-public-blockchain/v1.1/stellar",
                "https://a.example/aws-public-blockchain/v1.1/stellar",
            ),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.to_string(), format!("{address:?}")), (shown.to_owned(), format!("Address({shown})")));
        }
    }

    #[test]
    fn all_spellings_of_a_host_are_one() {
        let host = |text| Address::parse(text).unwrap().host();
        assert_eq!(host("https://user:hidden@RPC.example.:8443/v2?key=1"), "rpc.example");
        assert_eq!(host("http://rpc.example/other"), "rpc.example");
        assert_eq!(host("http://[::1]:8000"), "[::1]");
    }

    #[test]
    fn what_lies_below_an_address_keeps_its_user_and_its_query() {
        for text in ["https://u:p@a.example/lake?sig=1", "https://u:p@a.example/lake/?sig=1"] {
            let below = Address::parse(text).unwrap().below("FFFF--0-63/x.xdr.zst").unwrap();
            assert_eq!(below.uri().to_string(), "https://u:p@a.example/lake/FFFF--0-63/x.xdr.zst?sig=1");
            assert_eq!(below.to_string(), "https://a.example/lake/FFFF--0-63/x.xdr.zst");
        }
    }

    #[test]
    fn a_query_stands_behind_the_address_own_and_is_not_shown() {
        for (text, asked) in [
            ("https://a.example", "https://a.example/v1/health?a=1&b=2"),
            ("https://a.example/base/?key=hidden", "https://a.example/base/v1/health?key=hidden&a=1&b=2"),
        ] {
            let asking = Address::parse(text).unwrap().asking("v1/health", "a=1&b=2").unwrap();
            assert_eq!(asking.uri().to_string(), asked);
            assert!(!asking.to_string().contains('?'));
        }
        let bare = Address::parse("https://a.example").unwrap().asking("v1/health", "").unwrap();
        assert_eq!(bare.uri().to_string(), "https://a.example/v1/health");
    }

    #[test]
    fn what_is_no_address_is_refused_and_never_repeated() {
        for text in ["", "hidden", "hidden.example/", "https://", "https:///path", "http://hid den/", "://hidden"] {
            assert_eq!(Address::parse(text), Err(AddressError::Unreadable), "{text}");
        }
        let refusal = Address::parse("s3://bucket/hidden").unwrap_err();
        assert_eq!(refusal.to_string(), "addresses of s3:// are not read: give the https:// address of the same");
    }
}
