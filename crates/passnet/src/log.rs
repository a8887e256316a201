//! The log on stderr.

use std::{
    fmt,
    io::{self, IsTerminal as _},
};

use passnet_flags::Verbosity;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// Formats messages like those of the argument parser: `warning: ...`.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let (name, color) = match *event.metadata().level() {
            Level::ERROR => ("error", 31),
            Level::WARN => ("warning", 33),
            _ => ("note", 36),
        };
        if out.has_ansi_escapes() {
            write!(out, "\x1b[1;{color}m{name}:\x1b[0m ")?;
        } else {
            write!(out, "{name}: ")?;
        }
        context.field_format().format_fields(out.by_ref(), event)?;
        writeln!(out)
    }
}

/// Sends the log to stderr; `PASSNET_LOG` overrides `-q` and `-v`.
pub(crate) fn set_up(verbosity: &Verbosity) {
    let chosen = EnvFilter::try_from_env("PASSNET_LOG");
    // With `PASSNET_LOG` or `-v`, the user looks for a cause, so each line names its module.
    let is_plain = chosen.is_err() && !verbosity.is_verbose();
    let filter = chosen.unwrap_or_else(|_| EnvFilter::new(verbosity.filter()));
    // `NO_COLOR` counts with any value.
    let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(color).without_time();
    if is_plain { log.event_format(Plain).init() } else { log.init() }
}
