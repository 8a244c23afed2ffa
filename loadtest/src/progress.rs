//! Progress display on standard error, if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over a known amount of work.
pub(crate) fn bar(what: &str, length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64).with_message(what.to_owned());
    if let Ok(style) =
        ProgressStyle::with_template("{msg:24} {wide_bar} {human_pos}/{human_len}  {eta}")
    {
        bar.set_style(style);
    }
    bar
}

/// A line about the current step.
pub(crate) fn spinner(what: String) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(250));
    spinner
}

/// Progress of a run, with a line of figures.
pub(crate) fn live(seconds: u64) -> ProgressBar {
    let bar = ProgressBar::new(seconds);
    if let Ok(style) =
        ProgressStyle::with_template("{wide_bar} {pos} of {len} s, {eta} to go\n{msg}")
    {
        bar.set_style(style);
    }
    bar
}
