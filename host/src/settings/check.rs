//! What each setting must hold. An error is the end of a sentence that begins with the setting.

use std::path::PathBuf;
use std::time::Duration;

use crate::upstream::Origin;

/// A result that is gone before it can be read helps nobody.
const KEEP_LEAST: Duration = Duration::from_secs(60);
/// The upstream's terms allow transient storage only.
const KEEP_MOST: Duration = Duration::from_secs(30 * 24 * 3600);
/// The longest wait that can be meant.
const WAIT_MOST: Duration = Duration::from_secs(3600);
/// Slower than a tenth of the measured pace is a mistake.
const PACE_MOST: f64 = 10.0;
/// The fastest published plan of the upstream's other APIs.
const REQUESTS_MOST: u32 = 50;
/// A budget beyond this is a mistake in the unit.
const USD_MOST: f64 = 1_000_000.0;

type Checked<T> = Result<T, String>;

pub(super) fn folder(text: &str) -> Checked<PathBuf> {
    if text.is_empty() {
        return Err("is blank; give a folder".to_owned());
    }
    let path = PathBuf::from(text);
    if path.exists() && !path.is_dir() {
        return Err("is not a folder; give a folder, or a path where one can be made".to_owned());
    }
    std::path::absolute(&path).map_err(|error| format!("is not a usable path: {error}"))
}

pub(super) fn file(text: &str) -> Checked<PathBuf> {
    let path = PathBuf::from(text);
    if !path.is_file() {
        return Err("is not a file; give a component built for this contract".to_owned());
    }
    std::path::absolute(&path).map_err(|error| format!("is not a usable path: {error}"))
}

/// A file that is looked at when it is needed.
pub(super) fn file_path(text: &str) -> Checked<PathBuf> {
    if text.is_empty() {
        return Err("is blank; give a file".to_owned());
    }
    std::path::absolute(text).map_err(|error| format!("is not a usable path: {error}"))
}

pub(super) fn origin(text: &str) -> Checked<Origin> {
    Origin::parse(text).map_err(|error| error.to_string())
}

pub(super) fn switch(text: &str) -> Checked<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("is neither true nor false".to_owned()),
    }
}

pub(super) fn keep(text: &str) -> Checked<Duration> {
    within(text, KEEP_LEAST, KEEP_MOST)
}

pub(super) fn wait(text: &str) -> Checked<Duration> {
    within(text, Duration::from_millis(1), WAIT_MOST)
}

fn within(text: &str, least: Duration, most: Duration) -> Checked<Duration> {
    let duration = parse_duration(text)?;
    if (least..=most).contains(&duration) {
        Ok(duration)
    } else {
        Err(format!(
            "is out of range; give {} to {}",
            duration_text(least),
            duration_text(most)
        ))
    }
}

pub(super) fn pace(text: &str) -> Checked<f64> {
    match text.parse::<f64>() {
        Ok(pace) if (0.0..=PACE_MOST).contains(&pace) => Ok(pace),
        _ => Err(format!(
            "is no pace; give a number from 0 (at once) to {PACE_MOST}, 1 is as measured"
        )),
    }
}

pub(super) fn requests(text: &str) -> Checked<u32> {
    match text.parse() {
        Ok(count) if (1..=REQUESTS_MOST).contains(&count) => Ok(count),
        _ => Err(format!(
            "is no rate; give a number of requests from 1 to {REQUESTS_MOST}, as your plan allows"
        )),
    }
}

pub(super) fn usd(text: &str) -> Checked<u64> {
    parse_usd(text)
}

/// Millionths of a US dollar from a number of dollars.
///
/// # Errors
/// The end of a sentence about the value.
pub fn parse_usd(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix('$').unwrap_or(text).trim();
    match number.parse::<f64>() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // in range: checked right before
        Ok(usd) if (0.0..=USD_MOST).contains(&usd) => Ok((usd * 1e6).round() as u64),
        _ => Err("is no amount; give US dollars as a number such as 2.50".to_owned()),
    }
}

pub(super) fn usd_text(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// Reads a length of time, such as `24h`, `90s` or `1h 30m`; a number alone is in seconds.
///
/// # Errors
/// The end of a sentence about the value.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    parsed.ok_or_else(|| {
        "is no length of time; give a number with s, m, h or d, such as 24h".to_owned()
    })
}

/// Returns a length of time as a person types it.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}
