//! Where the server listens, and for whom.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{ConfigError, Key, Settings};

const DEFAULT_HOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const DEFAULT_PORT: u16 = 8787;

/// Which browsers' pages may read the server's answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// Every page.
    Any,
    /// Pages of these origins, each as `scheme://host[:port]`.
    Listed(Vec<String>),
}

impl Settings {
    /// Where the server listens: the address named, else the port named on loopback, else the default.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn listen(&self) -> Result<SocketAddr, ConfigError> {
        let address = self.one(Key::Listen, "an address and a port, as in 127.0.0.1:8787", |text| text.parse().ok())?;
        if let Some((address, _)) = address {
            return Ok(address);
        }
        let port = self.one(Key::Port, "a port from 0 to 65535", |text| text.parse().ok())?;
        Ok(SocketAddr::new(DEFAULT_HOST, port.map_or(DEFAULT_PORT, |(port, _)| port)))
    }

    /// Whose pages may read the server's answers in a browser; everybody's where no origin is named.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn allowed_origins(&self) -> Result<AllowedOrigins, ConfigError> {
        let right = "* or an origin as browsers write it: scheme://host or scheme://host:port, in lower case";
        let read = |text: &str| if text == "*" || is_origin(text) { Ok(text.to_owned()) } else { Err(right) };
        let origins = self.many(Key::AllowedOrigin, read)?;
        let any = origins.is_empty() || origins.iter().any(|origin| origin == "*");
        Ok(if any { AllowedOrigins::Any } else { AllowedOrigins::Listed(origins) })
    }
}

/// Whether a text is an origin as browsers send it: no path, no trailing slash, nothing that they write otherwise.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let is_scheme =
        scheme.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+-.".contains(&byte));
    let is_host =
        host.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._:[]".contains(&byte));
    !scheme.is_empty() && !host.is_empty() && is_scheme && is_host
}
