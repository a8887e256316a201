use super::error::{LogError, LogErrorKind};

/// A tagged line. The tag may stand anywhere in the line.
pub(super) enum Tagged<'a> {
    /// `[Config] key: value`
    Config { key: &'a str, value: &'a str },
    /// `[Datatype][side]: dt dt ...`
    Datatype { side: &'a str, dtypes: &'a str },
    /// `[Correctness][key]: v v ...`
    Correctness { key: &'a str, values: &'a str },
    /// `[Speedup][kind]: x`
    Speedup { kind: &'a str, value: &'a str },
}

/// A tag as found in a line.
pub(super) struct TagMatch<'a> {
    /// Text before the tag, e.g. the harness's prompt.
    pub(super) prompt: &'a str,
    /// The tag with its brackets, e.g. `[Speedup][e2e]`.
    pub(super) tag: &'a str,
    /// Content of the line.
    pub(super) content: Tagged<'a>,
}

/// Returns the text after `[Processing]`.
pub(super) fn after_processing(line: &str) -> Option<&str> {
    line.split_once("[Processing]").map(|(_, rest)| rest)
}

/// Returns the tagged content of a line; `None` if the line has no tag that scoring reads.
pub(super) fn tagged(line: &str) -> Option<TagMatch<'_>> {
    if let Some((prompt, rest)) = line.split_once("[Config] ") {
        let (key, value) = rest.split_once(':')?;
        let plain = !key.is_empty() && !key.contains(char::is_whitespace);
        let content = Tagged::Config { key, value: value.trim() };
        return plain.then_some(TagMatch { prompt, tag: "[Config]", content });
    }
    ["[Datatype][", "[Correctness][", "[Speedup]["].into_iter().find_map(|opening| {
        let start = line.find(opening)?;
        let (prompt, tagged) = line.split_at(start);
        let (key, values) = tagged.get(opening.len()..)?.split_once("]:")?;
        let content = match opening {
            "[Datatype][" => Tagged::Datatype { side: key, dtypes: values },
            "[Correctness][" => Tagged::Correctness { key, values },
            _ => Tagged::Speedup { kind: key, value: values.trim() },
        };
        Some(TagMatch { prompt, tag: tagged.get(..opening.len() + key.len() + 1)?, content })
    })
}

/// Parses one number of a tagged line. Python's `nan` and `inf` are accepted.
pub(super) fn number(line: usize, tag: &str, text: &str) -> Result<f64, LogError> {
    let kind = || LogErrorKind::NotANumber { tag: tag.to_owned(), value: text.to_owned() };
    text.parse().map_err(|_| LogError { line, kind: kind() })
}

/// Returns the key under which the harness prints the results for a pair of tolerances: three significant digits, Python's
/// `%.2E`.
pub(super) fn allclose_key((rtol, atol): (f64, f64)) -> String {
    format!("all_close_atol_{}_rtol_{}", scientific(atol), scientific(rtol))
}

fn scientific(value: f64) -> String {
    let text = format!("{value:.2E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
            Some(digits) => format!("{mantissa}E-{digits:0>2}"),
            None => format!("{mantissa}E+{exponent:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use passnet_record::DType;

    use super::*;
    use crate::tolerance;

    #[test]
    fn keys_are_printed_as_python_prints_them() {
        let key = |dtype, t| allclose_key(tolerance(dtype, t).unwrap());
        assert_eq!(key(DType::Float32, -10), "all_close_atol_1.00E-10_rtol_1.69E-12");
        assert_eq!(key(DType::BFloat16, -5), "all_close_atol_1.00E-05_rtol_1.60E-02");
        assert_eq!(key(DType::Float64, 0), "all_close_atol_1.00E+00_rtol_1.00E+00");
        assert_eq!(key(DType::Float16, 5), "all_close_atol_1.00E+05_rtol_1.00E+03");
        assert_eq!(key(DType::Float64, 1), "all_close_atol_2.51E+01_rtol_2.51E+01");
    }

    #[test]
    fn tags_are_found_anywhere() {
        let found = tagged("damaged [Speedup][e2e]: 1.5 ").unwrap();
        assert_eq!((found.prompt, found.tag), ("damaged ", "[Speedup][e2e]"));
        assert!(matches!(found.content, Tagged::Speedup { kind: "e2e", value: "1.5" }));
        assert!(tagged("[Config] two words: x").is_none());
        assert!(tagged("[Speedup][e2e] 1.5").is_none());
    }
}
