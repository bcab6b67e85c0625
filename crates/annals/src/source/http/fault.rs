//! Why a request got no whole answer.

use std::error::Error;
use std::io;

/// Why a request got no whole answer. Each may pass by itself.
#[derive(Debug, thiserror::Error)]
pub enum HttpFault {
    /// Nobody listens there, or the name is not known.
    #[error("it cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The connection's encryption could not be agreed on.
    #[error("no secure connection could be made")]
    Insecure(#[source] Box<dyn Error + Send + Sync>),
    /// The answer did not come, or not all of it, in the time allowed.
    #[error("it did not answer in time")]
    TimedOut,
    /// The connection ended before the answer did.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// What came is no HTTP.
    #[error("it did not answer in HTTP")]
    NotHttp(#[source] Box<dyn Error + Send + Sync>),
    /// The answer is longer than was asked for.
    #[error("it answered with more than {bytes_max} bytes")]
    TooLarge {
        /// The bound, bytes.
        bytes_max: u64,
    },
}

impl HttpFault {
    /// What became of a body.
    pub(super) fn of_body(cause: io::Error) -> Self {
        // A fault of the client's comes wrapped; anything else is one of the connection or of the compression.
        ureq::Error::from(cause).into()
    }
}

impl From<ureq::Error> for HttpFault {
    fn from(error: ureq::Error) -> Self {
        use io::ErrorKind as Kind;
        match error {
            ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => Self::Unreachable(Box::new(error)),
            ureq::Error::Timeout(_) => Self::TimedOut,
            // Its own sentence repeats the address, secrets and all.
            ureq::Error::BadUri(_) => Self::Unreachable("its address is none".into()),
            ureq::Error::HostNotFound | ureq::Error::ConnectionFailed | ureq::Error::InvalidProxyUrl => {
                Self::Unreachable(Box::new(error))
            }
            ureq::Error::Io(cause) => match cause.kind() {
                Kind::TimedOut | Kind::WouldBlock => Self::TimedOut,
                Kind::ConnectionRefused
                | Kind::HostUnreachable
                | Kind::NetworkUnreachable
                | Kind::NetworkDown
                | Kind::AddrNotAvailable => Self::Unreachable(Box::new(cause)),
                _ => Self::Broken(cause),
            },
            ureq::Error::Tls(_) | ureq::Error::Pem(_) | ureq::Error::Rustls(_) => Self::Insecure(Box::new(error)),
            other => Self::NotHttp(Box::new(other)),
        }
    }
}
