//! The wall clock as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in UTC, in RFC 3339 format with a resolution of one second.
pub fn now_rfc3339() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    rfc3339(seconds)
}

fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Converts days to a civil date. Years begin in March, so that the leap day is the last day of a year.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Returns the seconds since 1970 of a time in the format of [`now_rfc3339`]; `None` for any other text.
pub fn seconds_of_rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, separator: char| -> Option<[u64; 3]> {
        let parts = text.split(separator).map(|part| part.parse().ok()).collect::<Option<Vec<u64>>>()?;
        parts.try_into().ok()
    };
    let ([year, month, day], [hours, minutes, seconds]) = (numbers(date, '-')?, numbers(time, ':')?);
    let is_time = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    // 60 is a leap second.
    if !is_time || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    // The inverse of `rfc3339`: years begin in March.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * month + 2) / 5 + day - 1;
    // This cannot be negative: 1970-01-01 is day 719,468 of this calendar, and earlier years were refused above.
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    Some(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_not_times() {
        for text in
            ["", "2026-11-23", "2026-13-01T00:00:00Z", "1969-01-01T00:00:00Z", "a-b-cTd:e:fZ", "2026-11-23T24:00:00Z"]
        {
            assert_eq!(seconds_of_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), expected);
            assert_eq!(seconds_of_rfc3339(expected), Some(seconds));
        }
    }
}
