//! Scores as tables for people.

use passnet_record::{Mode, TextReport, TextTable, counted};

use crate::report::ScoreReport;

impl ScoreReport {
    /// Returns the report as text: S_t and ES_t by tolerance, the scores (the score of `mode` first), and the counts. `path` is the
    /// measured path, where it is known.
    pub fn text_report(&self, mode: Mode, path: Option<&str>) -> TextReport {
        let mut report = TextReport::default();
        report.table(self.curve());
        report.text(format!("\n{}", self.lines(mode, path).join("\n")));
        report
    }

    fn curve(&self) -> TextTable {
        let mut curve = TextTable::new(&["t", "S_t", "ES_t", "alpha", "beta", "lambda", "eta", "gamma"], 0);
        for row in &self.by_tolerance {
            let p = &row.parameters;
            let numbers = [row.s, row.es, p.alpha, p.beta, p.lambda, p.eta, p.gamma];
            curve.push(std::iter::once(row.t.to_string()).chain(numbers.map(|number| format!("{number:.4}"))));
        }
        curve
    }

    fn lines(&self, mode: Mode, path: Option<&str>) -> Vec<String> {
        let mut lines = vec![format!("AS           {:.4} (weights {})", self.aggregated, self.settings.weights)];
        if let Some(sound) = &self.sound {
            let interval = sound.interval.map(|i| format!(" [{:.4}, {:.4}]", i.low, i.high)).unwrap_or_default();
            lines.push(format!("sound score  {:.4}{interval}", sound.score));
        }
        if mode == Mode::Sound {
            lines.reverse();
        }
        let tally = &self.tally;
        let mean = tally.geomean_speedup.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.4}"));
        lines.push(format!("G-mean       {mean} over {}", counted(tally.correct - tally.untimed, "correct graph")));
        lines.push(format!("correct      {:.1}% of {}", tally.correct_percent(), counted(tally.graphs, "graph")));
        lines.push(format!("fast_1       {:.1}%", tally.fast_1_percent()));
        lines.extend(path.map(|path| format!("path         {path}")));
        lines.extend(tally.failures.iter().map(|(failure, count)| format!("{:<12} {count}", failure.name())));
        if self.reference_errors > 0 {
            lines.push(format!("left out     {} whose reference did not run", counted(self.reference_errors, "graph")));
        }
        lines
    }
}
