//! A training run in the order of its steps, as lines to draw.

use passnet_record::{CurveEvent, CurvePoint, TrainingScores};
use passnet_score::Interval;

use crate::{
    TrainingView,
    draw::lines::{Chart, Line, LineMark},
};

/// A checkpoint with its scores.
pub(crate) struct Checkpoint<'a> {
    pub(crate) step: f64,
    pub(crate) author: &'a str,
    pub(crate) scores: &'a TrainingScores,
}

/// A training run. Steps of a later stage follow those of the earlier ones.
#[derive(Default)]
pub(crate) struct TrainingTimeline<'a> {
    points: Vec<(f64, &'a CurvePoint)>,
    pub(crate) checkpoints: Vec<Checkpoint<'a>>,
    /// Authors on the same suite that are not checkpoints.
    pub(crate) references: Vec<(&'a str, &'a TrainingScores)>,
    /// Names of the stages, with the step at which each began.
    pub(crate) stages: Vec<(&'a str, f64)>,
}

impl<'a> TrainingTimeline<'a> {
    pub(crate) fn of(view: &'a TrainingView) -> Self {
        let mut course = Self::default();
        let (mut before, mut last) = (0_u64, 0_u64);
        let mut authors = Vec::new();
        for event in &view.events {
            match event {
                CurveEvent::Started { name, .. } => {
                    // Each stage counts its steps from 0, so they are shifted by the steps of the earlier
                    // stages.
                    before = last;
                    course.stages.push((name, before as f64));
                }
                CurveEvent::Point(point) => {
                    let step = before.saturating_add(point.step);
                    last = last.max(step);
                    course.points.push((step as f64, point));
                }
                CurveEvent::Checkpoint { step, author } => {
                    let step = before.saturating_add(*step);
                    last = last.max(step);
                    authors.push(author.as_str());
                    if let Some(scores) = view.scores.get(author) {
                        course.checkpoints.push(Checkpoint { step: step as f64, author, scores });
                    }
                }
            }
        }
        let suite = course.checkpoints.first().map(|checkpoint| checkpoint.scores.suite.as_str());
        let others = view.scores.iter().filter(|(author, scores)| {
            // Scores of another suite are not comparable with those of the checkpoints.
            !authors.contains(&author.as_str()) && suite.is_none_or(|suite| suite == scores.suite)
        });
        course.references = others.map(|(author, scores)| (author.as_str(), scores)).collect();
        course
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.points.is_empty() && self.checkpoints.is_empty()
    }

    /// Returns the suite of the scores, with its version; `None` if there are none, or the files do not say it.
    pub(crate) fn suite(&self) -> Option<&'a str> {
        let suite = self.checkpoints.first()?.scores.suite.as_str();
        (!suite.is_empty()).then_some(suite)
    }

    /// Returns the line of a figure; `None` if it was measured nowhere.
    pub(crate) fn line(&self, name: &str, value: impl Fn(&CurvePoint) -> Option<f64>) -> Option<Line> {
        let marks = self.points.iter().filter_map(|&(x, point)| Some(LineMark { x, y: value(point)?, bounds: None }));
        let marks: Vec<LineMark> = marks.collect();
        (!marks.is_empty()).then(|| Line { name: name.to_owned(), marks })
    }

    /// Returns a chart of the scores of checkpoints, with those of the other authors as reference lines.
    pub(crate) fn scored<'c>(
        &self,
        label: &'c str,
        show: fn(f64) -> String,
        value: impl Fn(&TrainingScores) -> Option<(f64, Option<Interval>)>,
    ) -> Chart<'c> {
        let mark = |checkpoint: &Checkpoint<'_>| {
            value(checkpoint.scores).map(|(y, bounds)| LineMark { x: checkpoint.step, y, bounds })
        };
        let marks = self.checkpoints.iter().filter_map(mark).collect();
        let reference = |(name, scores): &(&str, &TrainingScores)| Some(((*name).to_owned(), value(scores)?.0));
        Chart {
            label,
            across: "step",
            lines: vec![Line { name: "checkpoints".to_owned(), marks }],
            references: self.references.iter().filter_map(reference).collect(),
            show,
        }
    }
}

/// Share of graphs with right results, in percent.
pub(crate) fn right(scores: &TrainingScores) -> f64 {
    100.0 * scores.right as f64 / scores.graphs.max(1) as f64
}

/// Sound score with its interval.
pub(crate) fn sound(scores: &TrainingScores) -> Option<(f64, Option<Interval>)> {
    let sound = scores.sound.as_ref()?;
    Some((sound.score, sound.interval.map(|bounds| Interval { low: bounds.low, high: bounds.high })))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn stages_follow_each_other_and_references_are_of_the_same_suite() {
        let started = |name: &str| CurveEvent::Started { schema_version: 1, name: name.to_owned() };
        let point = |step| CurveEvent::Point(CurvePoint { step, loss: Some(1.0), ..CurvePoint::default() });
        let checkpoint = |step, author: &str| CurveEvent::Checkpoint { step, author: author.to_owned() };
        let events = vec![
            started("train"),
            point(20),
            checkpoint(30, "share-1"),
            checkpoint(30, "not evaluated"),
            started("improved"),
            point(5),
            checkpoint(10, "improved"),
        ];
        let scores = |suite: &str| TrainingScores { suite: suite.to_owned(), ..TrainingScores::default() };
        let authors = [("share-1", "f"), ("improved", "f"), ("nearest", "f"), ("practice-0", "train")];
        let scores = authors.map(|(name, suite)| (name.to_owned(), scores(suite)));
        let view = TrainingView { name: "a".to_owned(), events, scores: BTreeMap::from(scores) };
        let course = TrainingTimeline::of(&view);
        let steps = |marks: Vec<LineMark>| marks.iter().map(|mark| mark.x).collect::<Vec<_>>();
        assert_eq!(steps(course.line("loss", |point| point.loss).unwrap().marks), [20.0, 35.0]);
        assert_eq!(
            course.checkpoints.iter().map(|one| (one.step, one.author)).collect::<Vec<_>>(),
            [(30.0, "share-1"), (40.0, "improved")]
        );
        assert_eq!(course.references.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["nearest"]);
        assert_eq!(course.stages, [("train", 0.0), ("improved", 30.0)]);
        assert_eq!(course.line("reward", |point| point.reward), None);
    }
}
