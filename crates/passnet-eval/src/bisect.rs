//! Search for the smallest part of a graph on which a candidate fails in the same way as on the whole graph.
//!
//! The search first finds the shortest failing prefix by bisection, then the latest start of a failing range. Then it leaves out single
//! nodes while the failure stays (delta debugging, Zeller 2002). Failures need not be monotone, so the returned part was always evaluated
//! itself.

use passnet_graph::{NodeId, ValueId};
use passnet_record::{
    GraphId, Verdict,
    services::{AnnotateRequest, Annotation, ValueMeta},
};
use passnet_run::GraphSample;
use passnet_services::{Helper, HelperError, HelperPool, Interpreter};

/// Bytes of inputs above which a graph is not run to obtain its values.
const MAX_BYTES: u64 = 4 << 30;
/// Wall-clock limit of the run that obtains the values, in seconds.
const SECONDS: f64 = 300.0;

/// A failing part of a graph.
#[derive(Clone, Debug)]
pub struct Bisection {
    /// The failing part. Its inputs are described by the values at that place of the whole graph.
    pub sample: GraphSample,
    /// Verdict on the part.
    pub verdict: Verdict,
    /// Number of nodes of the whole graph.
    pub whole: usize,
    /// Number of evaluations of the search.
    pub evaluations: usize,
    /// True if no single node can be left out. False if the limit of evaluations was reached before this was known.
    pub is_minimal: bool,
}

/// Describes all values of a graph by running it once. Parts of the graph need these descriptions for their inputs.
///
/// # Errors
/// If no helper runs, or the graph cannot run.
pub fn values_of(sample: &GraphSample, interpreter: &Interpreter) -> Result<Vec<Option<ValueMeta>>, HelperError> {
    let pool = HelperPool::new(interpreter.clone(), Helper::Annotate);
    // The graph runs on the CPU, because the candidate may have failed on the device.
    let graph = sample.graph().with_device("cpu", None);
    let question = AnnotateRequest {
        graph: passnet_graph::wire::to_value(&graph),
        inputs: sample.metas().to_vec(),
        max_bytes: MAX_BYTES,
        seconds: SECONDS,
        variants: false,
    };
    Ok(pool.ask::<Annotation>(&question)?.values)
}

/// Finds the smallest part with the status of the whole, in at most `most` evaluations. `None` if the whole does not fail.
///
/// # Errors
/// Those of `evaluate`.
pub fn bisect<E>(
    sample: &GraphSample,
    values: &[Option<ValueMeta>],
    most: usize,
    evaluate: &mut dyn FnMut(&GraphSample) -> Result<Verdict, E>,
) -> Result<Option<Bisection>, E> {
    let verdict = evaluate(sample)?;
    if !verdict.status.is_failure() {
        return Ok(None);
    }
    let count = sample.graph().num_nodes();
    let best = Bisection { sample: sample.clone(), verdict, whole: count, evaluations: 1, is_minimal: false };
    let mut search = Search { sample, values, most, evaluate, best };
    let (mut passing, mut end) = (0, count);
    // Bisection assumes that the failure is monotone. If it is not, the part may be larger than necessary, but the result is still right:
    // `best` was evaluated.
    while end - passing > 1 {
        let middle = passing.midpoint(end);
        if search.fails(&nodes(0..middle))? { end = middle } else { passing = middle }
    }
    let (mut start, mut passing) = (0, end);
    while passing - start > 1 {
        let middle = start.midpoint(passing);
        if search.fails(&nodes(middle..end))? { start = middle } else { passing = middle }
    }
    search.thin_out(nodes(start..end))?;
    Ok(Some(search.best))
}

fn nodes(range: std::ops::Range<usize>) -> Vec<NodeId> {
    range.map(|node| NodeId(node as u32)).collect()
}

struct Search<'a, E> {
    sample: &'a GraphSample,
    values: &'a [Option<ValueMeta>],
    most: usize,
    evaluate: &'a mut dyn FnMut(&GraphSample) -> Result<Verdict, E>,
    best: Bisection,
}

impl<E> Search<'_, E> {
    /// Leaves out nodes, in groups of decreasing size, while the rest fails.
    fn thin_out(&mut self, mut kept: Vec<NodeId>) -> Result<(), E> {
        let mut piece = kept.len().div_ceil(2);
        while kept.len() > 1 && self.best.evaluations < self.most {
            let mut at = 0;
            let before = kept.len();
            while at < kept.len() && kept.len() > 1 {
                let rest: Vec<NodeId> =
                    kept[..at].iter().chain(&kept[(at + piece).min(kept.len())..]).copied().collect();
                if !rest.is_empty() && self.fails(&rest)? { kept = rest } else { at += piece }
            }
            if piece == 1 && kept.len() == before {
                break;
            }
            piece = if piece == 1 { 1 } else { piece.div_ceil(2).min(kept.len()) };
        }
        self.best.is_minimal = self.best.evaluations < self.most;
        Ok(())
    }

    /// Evaluates a part and returns whether it fails like the whole graph. A failing part becomes the best part so far. A part that is
    /// not a valid graph counts as not failing.
    fn fails(&mut self, nodes: &[NodeId]) -> Result<bool, E> {
        if self.best.evaluations >= self.most {
            return Ok(false);
        }
        let Some(part) = self.part(nodes) else { return Ok(false) };
        self.best.evaluations += 1;
        let verdict = (self.evaluate)(&part)?;
        // The status is compared and not the message: messages name values and elements, which differ between parts.
        let fails = verdict.status == self.best.verdict.status;
        if fails {
            self.best.sample = part;
            self.best.verdict = verdict;
        }
        Ok(fails)
    }

    fn part(&self, nodes: &[NodeId]) -> Option<GraphSample> {
        let graph = self.sample.graph();
        let known = |value: ValueId| self.values.get(value.index()).and_then(Option::as_ref);
        let slice = graph.subset(nodes, |value| known(value).is_some()).ok()?;
        if slice.outputs.is_empty() {
            return None;
        }
        let metas = slice.inputs.iter().map(|&value| match graph.node_of(value) {
            None => self.sample.metas().get(value.index()).cloned(),
            Some(_) => Some(known(value)?.clone().named(graph.name(value))),
        });
        let metas = metas.collect::<Option<Vec<_>>>()?;
        let id = GraphId { task: self.sample.id().task.clone(), graph: self.sample.id().graph.clone() };
        Some(GraphSample::new(id, slice.graph, metas))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use passnet_graph::Graph;
    use passnet_record::{ContentId, Cost, DType, Evidence, SCHEMA_VERSION, Status};

    use super::*;

    /// Returns a chain of 40 relus with `sin` and `cos` far from each other in it.
    fn sample() -> (GraphSample, Vec<Option<ValueMeta>>) {
        let mut b = Graph::builder();
        let mut value = b.input("x");
        for index in 0..40 {
            let target = match index {
                11 => "torch.sin",
                29 => "torch.cos",
                _ => "torch.relu",
            };
            value = b.call_function(&format!("v{index}"), target, &[value.into()], &[]);
        }
        let graph = b.finish(&[value.into()]).unwrap();
        let meta = ValueMeta {
            shape: vec![4],
            dtype: DType::Float32,
            mean: Some(0.0),
            std: Some(1.0),
            data: None,
            min_val: None,
            max_val: None,
        };
        let values = vec![Some(meta.clone()); 41];
        let id = GraphId { task: "t".to_owned(), graph: "g".to_owned() };
        (GraphSample::new(id, graph, vec![meta.named("x")]), values)
    }

    fn verdict(sample: &GraphSample, status: Status) -> Verdict {
        Verdict {
            schema_version: SCHEMA_VERSION,
            id: sample.id().clone(),
            key: ContentId::of_parts([]),
            status,
            reason: None,
            tolerance: None,
            outputs: Vec::new(),
            timings: Vec::new(),
            evidence: Evidence::default(),
            cost: Cost::default(),
        }
    }

    fn found(fails: impl Fn(&[String]) -> bool, most: usize) -> Option<(Vec<String>, bool, usize)> {
        let (sample, values) = sample();
        let mut evaluate = |part: &GraphSample| -> Result<Verdict, Infallible> {
            assert_eq!(part.metas().len(), part.graph().num_inputs());
            let status = if fails(&part.graph().op_names()) { Status::Accuracy } else { Status::Correct };
            Ok(verdict(part, status))
        };
        let Ok(found) = bisect(&sample, &values, most, &mut evaluate);
        found.map(|found| (found.sample.graph().op_names(), found.is_minimal, found.evaluations))
    }

    #[test]
    fn one_call_is_found_in_few_evaluations() {
        let (ops, minimal, evaluations) = found(|ops| ops.iter().any(|op| op.contains("cos")), 100).unwrap();
        assert!(ops.len() == 1 && ops[0].contains("cos") && minimal && evaluations <= 14, "{ops:?} {evaluations}");
    }

    #[test]
    fn two_calls_that_only_fail_together_are_found() {
        let both = |ops: &[String]| ["sin", "cos"].iter().all(|name| ops.iter().any(|op| op.contains(name)));
        let (ops, minimal, _) = found(both, 100).unwrap();
        assert!(ops.len() == 2 && minimal, "{ops:?}");
        // A search that reaches its limit still returns a failing part.
        let (ops, minimal, evaluations) = found(both, 5).unwrap();
        assert!(ops.len() > 2 && both(&ops) && !minimal && evaluations == 5, "{ops:?} {evaluations}");
    }

    #[test]
    fn a_graph_that_does_not_fail_has_no_failing_part() {
        assert!(found(|_| false, 100).is_none());
    }
}
