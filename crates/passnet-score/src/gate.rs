//! Gates on comparisons: `METRIC OP NUMBER[%]`, joined by `and`. `docs/reference/compare.md` describes them.

use std::{fmt, str::FromStr};

use crate::{Change, RunComparison, ScoreChange, Tally};

/// An error in the text of a condition, or in its evaluation on two runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// A term without an operator.
    #[error("`{0}` has no <, <=, > or >=, for example 'AS<-2%'")]
    NoOperator(String),
    /// The suffix of a metric is not an end of an interval.
    #[error("`.{0}` is not known; known are .low and .high")]
    UnknownEnd(String),
    /// No metric has the given name.
    #[error("`{name}` is not known; known are {known}")]
    UnknownMetric {
        /// The unknown name.
        name: String,
        /// All known names.
        known: String,
    },
    /// The metric has no interval.
    #[error("`{0}` has no interval; only AS and sound have one")]
    NoInterval(String),
    /// The right side is not a finite number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// The runs lack a number that the condition needs.
    #[error("cannot evaluate `{0}`: the runs have no such number")]
    NoValue(String),
}

/// Quantity of a comparison that a condition can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Aggregated,
    Sound,
    GeometricMean,
    Correct,
    Fast1,
    NewlyWrong,
    NewlyRight,
    Slower,
    Faster,
    NotHandedIn,
}

/// Value of a score that a condition uses: the change itself, or an end of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntervalEnd {
    Point,
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateOperator {
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Debug, PartialEq)]
struct GateTerm {
    metric: Metric,
    end: IntervalEnd,
    operator: GateOperator,
    number: f64,
    percent: bool,
}

/// Condition for a comparison of runs: terms that all have to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct GateCondition {
    text: String,
    terms: Vec<GateTerm>,
}

const METRICS: [(&str, Metric); 10] = [
    ("AS", Metric::Aggregated),
    ("sound", Metric::Sound),
    ("gmean", Metric::GeometricMean),
    ("correct", Metric::Correct),
    ("fast_1", Metric::Fast1),
    ("newly_wrong", Metric::NewlyWrong),
    ("newly_right", Metric::NewlyRight),
    ("slower", Metric::Slower),
    ("faster", Metric::Faster),
    ("not_handed_in", Metric::NotHandedIn),
];

impl FromStr for GateCondition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        // No metric has blanks in its name, so ` and ` cannot be part of a name.
        let terms = text.split(" and ").map(term).collect::<Result<_, _>>()?;
        Ok(Self { text: text.trim().to_owned(), terms })
    }
}

impl fmt::Display for GateCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn term(text: &str) -> Result<GateTerm, ConditionError> {
    let text = text.trim();
    let at = text.find(['<', '>']).ok_or_else(|| ConditionError::NoOperator(text.to_owned()))?;
    let (name, rest) = text.split_at(at);
    let (operator, rest) = match rest.as_bytes() {
        [b'<', b'=', ..] => (GateOperator::AtMost, &rest[2..]),
        [b'>', b'=', ..] => (GateOperator::AtLeast, &rest[2..]),
        [b'<', ..] => (GateOperator::Less, &rest[1..]),
        _ => (GateOperator::Greater, &rest[1..]),
    };
    let (name, end) = match name.trim().split_once('.') {
        Some((name, "low")) => (name, IntervalEnd::Low),
        Some((name, "high")) => (name, IntervalEnd::High),
        Some((_, other)) => return Err(ConditionError::UnknownEnd(other.to_owned())),
        None => (name.trim(), IntervalEnd::Point),
    };
    let known = METRICS.iter().find(|(metric, _)| *metric == name);
    let &(_, metric) = known.ok_or_else(|| {
        let names: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
        ConditionError::UnknownMetric { name: name.to_owned(), known: names.join(", ") }
    })?;
    if end != IntervalEnd::Point && !matches!(metric, Metric::Aggregated | Metric::Sound) {
        return Err(ConditionError::NoInterval(name.to_owned()));
    }
    let number = rest.trim();
    let (digits, percent) = number.strip_suffix('%').map_or((number, false), |digits| (digits.trim(), true));
    let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.ok_or_else(|| ConditionError::NotANumber(digits.to_owned()))?;
    Ok(GateTerm { metric, end, operator, number, percent })
}

/// The comparison and the runs that conditions are evaluated on.
#[derive(Clone, Copy, Debug)]
pub struct ComparedRuns<'a> {
    /// The two runs compared.
    pub comparison: &'a RunComparison,
    /// Counts of the first run.
    pub before: &'a Tally,
    /// Counts of the second run.
    pub after: &'a Tally,
}

impl GateCondition {
    /// Returns whether all terms hold. A term without a value (no sound score, no interval) is an error: a check that cannot be evaluated
    /// must not pass silently.
    ///
    /// # Errors
    /// [`ConditionError::NoValue`] if a term has no value.
    pub fn holds(&self, subject: &ComparedRuns<'_>) -> Result<bool, ConditionError> {
        // No early exit: a term without a value must be an error even after one that is false.
        let mut all = true;
        for term in &self.terms {
            let value = term.value(subject).ok_or_else(|| ConditionError::NoValue(self.to_string()))?;
            all &= match term.operator {
                GateOperator::Less => value < term.number,
                GateOperator::AtMost => value <= term.number,
                GateOperator::Greater => value > term.number,
                GateOperator::AtLeast => value >= term.number,
            };
        }
        Ok(all)
    }
}

impl GateTerm {
    fn value(&self, subject: &ComparedRuns<'_>) -> Option<f64> {
        let ComparedRuns { comparison, before, after } = *subject;
        let count = |change| {
            let count = comparison.count(change) as f64;
            // The count as a percentage of the graphs that both runs have.
            if self.percent { 100.0 * count / comparison.graphs.len().max(1) as f64 } else { count }
        };
        match self.metric {
            Metric::Aggregated => self.of_score(comparison.aggregated),
            Metric::Sound => self.of_score(comparison.sound?),
            Metric::GeometricMean => {
                let (before, after) = (before.geomean_speedup?, after.geomean_speedup?);
                self.of_score(ScoreChange { before, after, ratio: after / before, interval: None })
            }
            // Shares are already in percent, so their change is in percentage points with and without `%`.
            Metric::Correct => Some(after.correct_percent() - before.correct_percent()),
            Metric::Fast1 => Some(after.fast_1_percent() - before.fast_1_percent()),
            Metric::NewlyWrong => Some(count(Change::NewlyWrong)),
            Metric::NewlyRight => Some(count(Change::NewlyRight)),
            Metric::Slower => Some(count(Change::Slower)),
            Metric::Faster => Some(count(Change::Faster)),
            Metric::NotHandedIn => Some(count(Change::NotHandedIn)),
        }
    }

    fn of_score(&self, change: ScoreChange) -> Option<f64> {
        let ratio = match self.end {
            IntervalEnd::Point => change.ratio,
            IntervalEnd::Low => change.interval?.low,
            IntervalEnd::High => change.interval?.high,
        };
        Some(if self.percent { 100.0 * (ratio - 1.0) } else { change.before * (ratio - 1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    fn holds(text: &str) -> Result<bool, ConditionError> {
        let change = |before: f64, ratio: f64| ScoreChange {
            before,
            after: before * ratio,
            ratio,
            interval: Some(Interval { low: ratio - 0.02, high: ratio + 0.02 }),
        };
        let comparison = RunComparison {
            graphs: Vec::new(),
            only_before: 0,
            only_after: 0,
            aggregated: change(0.5, 0.97),
            sound: None,
        };
        let tally = |correct| Tally {
            graphs: 100,
            correct,
            fast_1: 50,
            untimed: 0,
            unstable: 0,
            geomean_speedup: Some(1.1),
            failures: std::collections::BTreeMap::new(),
        };
        let (before, after) = (tally(90), tally(85));
        text.parse::<GateCondition>()?.holds(&ComparedRuns { comparison: &comparison, before: &before, after: &after })
    }

    #[test]
    fn conditions_hold_or_not() {
        for (text, expected) in [
            ("AS<-2%", true),
            ("AS < -4 %", false),
            ("AS<-0.01", true),
            ("AS<-0.02", false),
            ("AS.high<-2%", false),
            ("AS.low<-2%", true),
            ("correct<-4%", true),
            ("correct<=-5", true),
            ("correct<-5", false),
            ("gmean<0", false),
            ("newly_wrong>0", false),
            ("slower>=0%", true),
            ("AS<-2% and correct<-4%", true),
            ("AS<-2% and newly_wrong>0", false),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bad_conditions_and_missing_numbers_are_errors() {
        for text in ["sound<0", "AS", "AS<", "AS<x", "AS<nan", "speed>1", "correct.low<1", "AS.mid<1", "", "AS<1 and"] {
            assert!(holds(text).is_err(), "{text}");
        }
    }
}
