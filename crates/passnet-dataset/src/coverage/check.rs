//! Evaluation of matches: finds the types that a pass refuses, and the matches where its results are wrong.

use std::collections::{BTreeMap, BTreeSet};

use passnet_graph::{Graph, Type, matching::Match, wire};
use passnet_record::{
    GraphId, Status,
    services::{InputType, PropagateReply, PropagateRequest},
};
use passnet_run::GraphSample;
use rayon::prelude::*;

use super::{
    corpus::Corpus,
    report::{Checked, MatchOutcome, TypeClass},
    search::{NamedPattern, Places},
    site::{StandaloneGraph, Typed},
};
use crate::annotate::Runner;

/// Limits of the check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Number of matches of each pass that are judged. Each class of types gets one before any class gets a second.
    pub samples: usize,
    /// Number of graphs of each pass whose types are computed.
    pub graphs: usize,
    /// Bytes of inputs above which a match is not judged.
    pub max_bytes: u64,
    /// Device for which types are computed: `cpu` or `cuda`.
    pub device: String,
}

/// Verdict on one match.
#[derive(Clone, Debug)]
pub struct JudgedMatch {
    /// Status of the evaluation.
    pub status: Status,
    /// Reason, if the status is not `correct`.
    pub message: Option<String>,
}

/// Evaluates one pass on the graph of one match. Several threads call it.
pub trait Judge: Sync {
    /// Evaluates the pass with the number `pattern` on a sample.
    ///
    /// # Errors
    /// One sentence, if there is no verdict.
    fn judge(&self, pattern: usize, sample: &GraphSample) -> Result<JudgedMatch, String>;
}

/// A match that can be cut out as a separate graph.
struct StandaloneMatch {
    path: String,
    nodes: Vec<String>,
    site: StandaloneGraph,
}

/// The matches of one class of types.
#[derive(Default)]
struct MatchesOfTypes {
    matches: usize,
    graphs: BTreeSet<usize>,
    candidates: Vec<StandaloneMatch>,
}

/// Groups the matches of each pattern by the types of their inputs, and lets `judge` evaluate some of each class. Returns one
/// entry per pattern.
pub fn check(
    corpus: &Corpus,
    (places, patterns): (&[Places], &[NamedPattern]),
    types: &dyn Runner,
    judge: &dyn Judge,
    options: &CheckOptions,
) -> Vec<Vec<TypeClass>> {
    let typed = graph_types(corpus, places, types, options);
    let numbers: Vec<usize> = (0..patterns.len()).collect();
    let classes = numbers.into_par_iter().map(|pattern| {
        let own = places.iter().filter(|place| place.pattern == pattern);
        let classes = classes(corpus, &patterns[pattern].graph, own, &typed, options);
        judge_classes(pattern, classes, judge, options)
    });
    classes.collect()
}

/// A graph for a device and the types of its values, or the reason why they are not known.
type TypedOrReason = Result<(Graph, Vec<Type>), String>;

/// Returns the types of the values of some graphs of each pattern, spread evenly over the graphs in which it matches.
fn graph_types(
    corpus: &Corpus,
    places: &[Places],
    runner: &dyn Runner,
    options: &CheckOptions,
) -> BTreeMap<usize, TypedOrReason> {
    let mut by_pattern: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in places {
        by_pattern.entry(place.pattern).or_default().push(place.graph);
    }
    // A set, so that a graph in which several patterns match is asked for once.
    let wanted: BTreeSet<usize> = by_pattern
        .values()
        .flat_map(|graphs| spread(graphs.len(), options.graphs).map(|index| graphs[index]))
        .collect();
    let wanted: Vec<usize> = wanted.into_iter().collect();
    let ask = |&number: &usize| {
        let sample = &corpus.graphs[number].sample;
        if sample.tensors.is_empty() && sample.graph.inputs().next().is_some() {
            return (number, Err("its inputs are not known; run `passnet dataset annotate` first".to_owned()));
        }
        let graph = sample.graph.with_device(&options.device, None);
        let question = PropagateRequest {
            graph: wire::to_value(&graph),
            inputs: sample.tensors.iter().map(InputType::from).collect(),
            device: options.device.clone(),
        };
        let question = serde_json::to_value(question).map_err(|error| error.to_string());
        let answer = question.and_then(|question| runner.ask(&question)).and_then(|answer| {
            let types: PropagateReply<Type> = serde_json::from_value(answer).map_err(|error| error.to_string())?;
            if types.values.len() == graph.num_values() { Ok(types.values) } else { Err("other values".to_owned()) }
        });
        (number, answer.map(|types| (graph, types)))
    };
    wanted.par_iter().map(ask).collect()
}

/// Returns at most `most` of the numbers `0..count`, spread evenly.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |index| index * count / taken)
}

fn classes<'p>(
    corpus: &Corpus,
    pattern: &Graph,
    places: impl Iterator<Item = &'p Places>,
    typed: &BTreeMap<usize, TypedOrReason>,
    options: &CheckOptions,
) -> BTreeMap<String, MatchesOfTypes> {
    let mut classes: BTreeMap<String, MatchesOfTypes> = BTreeMap::new();
    for place in places {
        let source = &corpus.graphs[place.graph];
        for found in &place.matches {
            let site = match typed.get(&place.graph) {
                None => Err("not typed: beyond the number of graphs to look at".to_owned()),
                Some(Err(message)) => Err(format!("types unknown: {message}")),
                Some(Ok((graph, types))) => Typed { graph, tensors: &source.sample.tensors, types }
                    .cut(pattern, found)
                    .map_err(|error| error.to_string()),
            };
            let name = site.as_ref().map_or_else(Clone::clone, |site| site.class.clone());
            let class = classes.entry(name).or_default();
            class.matches += 1;
            class.graphs.insert(place.graph);
            if let Ok(site) = site
                && site.bytes <= options.max_bytes
            {
                let nodes = node_names(&source.sample.graph, found);
                class.candidates.push(StandaloneMatch { path: source.path.clone(), nodes, site });
            }
        }
    }
    classes
}

fn node_names(graph: &Graph, found: &Match) -> Vec<String> {
    found.nodes.iter().flatten().map(|&node| graph.node(node).name.to_owned()).collect()
}

/// Judges candidates: large classes first, and in each class small, large and middle-sized candidates.
fn judge_classes(
    pattern: usize,
    classes: BTreeMap<String, MatchesOfTypes>,
    judge: &dyn Judge,
    options: &CheckOptions,
) -> Vec<TypeClass> {
    let mut classes: Vec<(String, MatchesOfTypes)> = classes.into_iter().collect();
    classes.sort_by_key(|(_, class)| std::cmp::Reverse(class.matches));
    let can = classes.iter().filter(|(_, class)| !class.candidates.is_empty()).count();
    let mut left = options.samples;
    let mut classified = Vec::new();
    for (index, (types, mut class)) in classes.into_iter().enumerate() {
        // If a class does not use its share, the following classes get the rest.
        let share = left.div_ceil(can.saturating_sub(index).max(1)).min(left);
        class.candidates.sort_by_key(|candidate| candidate.site.bytes);
        // Layers of one model give the same inputs many times. Equal matches have equal verdicts, so one of them is enough.
        class.candidates.dedup_by(|a, b| a.site.bytes == b.site.bytes && a.site.metas == b.site.metas);
        let chosen: Vec<&StandaloneMatch> =
            spread(class.candidates.len(), share).map(|n| &class.candidates[n]).collect();
        left -= chosen.len();
        let checked: Vec<Checked> = chosen.into_iter().map(|candidate| judge_one(pattern, candidate, judge)).collect();
        let worst = checked.iter().max_by_key(|checked| checked.outcome);
        classified.push(TypeClass {
            types,
            matches: class.matches,
            graphs: class.graphs.len(),
            outcome: worst.map_or(MatchOutcome::Unchecked, |worst| worst.outcome),
            message: worst.and_then(|worst| worst.message.clone()),
            checked,
        });
    }
    classified
}

fn judge_one(pattern: usize, candidate: &StandaloneMatch, judge: &dyn Judge) -> Checked {
    let id = GraphId { task: "match".to_owned(), graph: candidate.path.clone() };
    let sample = GraphSample::new(id, candidate.site.graph.clone(), candidate.site.metas.clone());
    let (outcome, message) = match judge.judge(pattern, &sample) {
        Ok(judged) => (MatchOutcome::of(judged.status), judged.message),
        Err(message) => (MatchOutcome::Failed, Some(message)),
    };
    Checked { graph: candidate.path.clone(), nodes: candidate.nodes.clone(), outcome, message }
}
