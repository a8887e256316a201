use crate::{ScoreError, ToleranceScore};

/// The weights by which ES_t over all t becomes one number. Published tables never change; a new one gets a new name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightTable {
    /// Name and version.
    pub name: &'static str,
    /// `(t, weight)`; weights need not sum to 1.
    pub weights: [(i32, f64); 15],
}

impl WeightTable {
    /// The current weights of the public benchmark: t = -5 .. -3 weigh most, and looser tolerances decay by 0.8 a step.
    pub const AS_2026: Self = Self {
        name: "as-2026",
        weights: [
            (-10, 0.001),
            (-9, 0.001),
            (-8, 0.001),
            (-7, 0.001),
            (-6, 0.001),
            (-5, 1.0),
            (-4, 1.0),
            (-3, 1.0),
            (-2, 0.8),
            (-1, 0.64),
            (0, 0.512),
            (1, 0.4096),
            (2, 0.32768),
            (3, 0.262144),
            (4, 0.001),
        ],
    };

    /// The earlier weights of the public benchmark: nearly flat from t = -6 on.
    pub const AS_2025: Self = Self {
        name: "as-2025",
        weights: [
            (-10, 0.001),
            (-9, 0.001),
            (-8, 0.001),
            (-7, 0.13),
            (-6, 0.40),
            (-5, 0.48),
            (-4, 0.48),
            (-3, 0.48),
            (-2, 0.48),
            (-1, 0.48),
            (0, 0.48),
            (1, 0.48),
            (2, 0.48),
            (3, 0.48),
            (4, 0.48),
        ],
    };

    /// Every table, the current one first.
    pub const ALL: [Self; 2] = [Self::AS_2026, Self::AS_2025];

    /// Returns the table with the given name.
    ///
    /// # Errors
    /// If no table has the name.
    pub fn by_name(name: &str) -> Result<Self, ScoreError> {
        Self::ALL
            .into_iter()
            .find(|table| table.name == name)
            .ok_or_else(|| ScoreError::UnknownWeights(name.to_owned()))
    }
}

/// Computes AS: the product over t of ES_t^(w_t / sum of w).
///
/// # Errors
/// If a tolerance of the table has no score.
pub fn aggregated_score(scores: &[ToleranceScore], table: &WeightTable) -> Result<f64, ScoreError> {
    let mut weighted = 0.0;
    let mut total = 0.0;
    for (t, weight) in table.weights {
        let score = scores.iter().find(|score| score.t == t).ok_or(ScoreError::MissingTolerance(t))?;
        weighted += weight * score.es.ln();
        total += weight;
    }
    Ok((weighted / total).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_name_and_cover_all_of_default_t() {
        for table in WeightTable::ALL {
            assert_eq!(WeightTable::by_name(table.name), Ok(table));
            assert!(table.weights.iter().map(|&(t, _)| t).eq(-10..=4), "{}", table.name);
        }
        assert_eq!(aggregated_score(&[], &WeightTable::AS_2026), Err(ScoreError::MissingTolerance(-10)));
    }
}
