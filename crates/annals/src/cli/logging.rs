//! Log lines on stderr.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use annals_core::wire::rfc3339;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::clock::Clock;

struct ClockTime(Arc<dyn Clock>);

impl FormatTime for ClockTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        writer.write_str(&rfc3339(self.0.now_unix_ms()))
    }
}

/// Sends the log lines that `filter` lets through to stderr.
pub(super) fn start(filter: EnvFilter, clock: Arc<dyn Clock>) {
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .with_timer(ClockTime(clock));
    // A second start in one process changes nothing: the first one's filter stays.
    let _ = subscriber.try_init();
}
