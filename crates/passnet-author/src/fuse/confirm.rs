//! Drops passes that are slower than eager mode: each call of a pass is timed next to the operations that it replaces.
//!
//! A pass that loses is planned again with fewer of its operations: first without the matrix products, which a library may
//! compute faster, then without any of them. If it loses in some graphs only, the others keep it, provided that a constant of
//! the pattern distinguishes them. A pattern does not see shapes and types, and a pass may not call PyTorch's operations. So a
//! pass that would match a losing graph is dropped in all graphs with the same constants.
//!
//! A graph that no pass matches counts as failed. If dropping the pass would leave such a graph, a pass repeats one of its
//! views, which costs a call of Python. Without a view that can be repeated, the pass keeps its views, or a single operation
//! with a small result. The whole pass stays only if nothing else matches.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use passnet_eval::Referee;
use passnet_fuse::{Choices, Excluded, ReplacedPart, Written, WrittenPass, write_passes_without};
use passnet_graph::{NodeId, Target, TensorType, TypedGraph};
use passnet_record::{
    ContentId, PassDirectory, counted,
    services::{ConfirmReply, ConfirmRequest, ConfirmedCall},
};
use passnet_run::GraphSample;
use passnet_services::{Helper, HelperError, HelperPool};

use super::{confirmed::Confirmed, loss::Loss, typed_suite::TypedSuite};
use crate::author::AuthorError;

/// Largest number of graphs of a task on which its passes are timed.
const GRAPHS: usize = 8;
/// Largest number of times that the passes of a task are planned and timed.
const PLANS: usize = 6;
/// Largest number of single operations that are tried in place of a pass.
const SINGLES: usize = 4;
/// Time between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// Times passes on the device of a referee.
#[derive(Debug)]
pub struct Confirmer<'r> {
    referee: &'r Referee,
    pool: HelperPool,
    lock: tempfile::NamedTempFile,
}

impl<'r> Confirmer<'r> {
    /// Returns a confirmer. Its helper process starts with the first question.
    ///
    /// # Errors
    /// If there is no folder for temporary files.
    pub fn new(referee: &'r Referee) -> Result<Self, AuthorError> {
        let pool = HelperPool::new(referee.interpreter(), Helper::Confirm);
        Ok(Self { referee, pool, lock: tempfile::NamedTempFile::new()? })
    }

    /// Returns the passes of all tasks without those that lose. Works on several tasks at a time. Once `stop` is true, the
    /// remaining tasks keep all of their passes. `progress` is called with a line of text at the beginning and, if it
    /// takes long, every ten seconds.
    pub fn passes(
        &self,
        suite: &TypedSuite,
        choices: &Choices,
        stop: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> (BTreeMap<String, PassDirectory>, Confirmed) {
        let tasks: Vec<(&str, &[TypedGraph])> = suite.tasks().collect();
        progress(&format!("timing the passes of {} against eager mode", counted(tasks.len(), "task")));
        // Half of the cores, because a helper that times calls needs a core that no other helper compiles on.
        let workers = std::thread::available_parallelism().map_or(1, usize::from).div_ceil(2).min(tasks.len()).max(1);
        let of_task = |(task, graphs): &(&str, &[TypedGraph])| {
            let samples = suite.samples(task);
            let time = |graph: usize, passes: &PassDirectory| {
                if stop.load(Ordering::Relaxed) { None } else { self.time(&samples[graph], passes) }
            };
            let (directory, counts) = confirm_task(graphs, suite.target(), choices, &time);
            ((*task).to_owned(), directory, counts)
        };
        let (send, finished) = mpsc::channel();
        let share = |first: usize, send: mpsc::Sender<_>| {
            // The receiver lives as long as the threads, so that sending cannot fail.
            tasks.iter().skip(first).step_by(workers).for_each(|task| drop(send.send(of_task(task))));
        };
        let mut all = Vec::with_capacity(tasks.len());
        // If a thread panicked, this thread panics too.
        std::thread::scope(|scope| {
            for first in 0..workers {
                let send = send.clone();
                scope.spawn(move || share(first, send));
            }
            drop(send);
            let mut last = Instant::now();
            for task in finished {
                all.push(task);
                if last.elapsed() >= PROGRESS_EVERY {
                    last = Instant::now();
                    progress(&format!("timed the passes of {} of {}", all.len(), counted(tasks.len(), "task")));
                }
            }
        });
        // The order of the reasons does not depend on the threads.
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let mut sum = Confirmed::default();
        let mut passes = BTreeMap::new();
        for (task, directory, counts) in all {
            sum.timed += counts.timed;
            sum.dropped += counts.dropped;
            sum.losses.extend(counts.losses.iter().map(|reason| format!("{task}: {reason}")));
            passes.insert(task, directory);
        }
        (passes, sum)
    }

    /// Returns the calls of passes in a graph; `None` if they cannot be timed. The evaluation will report the reason in detail.
    fn time(&self, sample: &GraphSample, passes: &PassDirectory) -> Option<Vec<ConfirmedCall>> {
        let settings = self.referee.settings();
        let text = |(name, bytes): &(String, Vec<u8>)| Some((name.clone(), String::from_utf8(bytes.clone()).ok()?));
        let request = ConfirmRequest {
            graph: sample.wire(settings.device),
            inputs: sample.metas().to_vec(),
            device: settings.device.to_string(),
            threads: settings.threads,
            lock: Path::to_owned(self.lock.path()),
            passes: passes.files().iter().map(text).collect::<Option<_>>()?,
        };
        let reply: Result<ConfirmReply, HelperError> = self.pool.ask(&request);
        match reply {
            Ok(reply) => Some(reply.calls),
            Err(error) => {
                tracing::debug!("{}/{} is not timed: {error}", sample.id().task, sample.id().graph);
                None
            }
        }
    }
}

/// Returns the passes of a task without those that lose. `time` returns the calls of passes in the graph at a position.
fn confirm_task(
    task: &[TypedGraph],
    target: Target,
    choices: &Choices,
    time: &dyn Fn(usize, &PassDirectory) -> Option<Vec<ConfirmedCall>>,
) -> (PassDirectory, Confirmed) {
    let mut left = Excluded::new();
    let mut written = write_passes_without(task, target, choices, &left);
    let mut counts = Confirmed::default();
    // Passes are recognised by their text: a pass that the next plan contains again was timed already.
    let mut settled: BTreeSet<ContentId> = BTreeSet::new();
    for _ in 0..PLANS {
        let text = |pass: &WrittenPass| written.directory.file(&format!("{}.py", pass.name)).map(ContentId::of);
        let fresh: Vec<&WrittenPass> = written
            .passes
            .iter()
            .filter(|pass| !pass.repeats && text(pass).is_some_and(|text| !settled.contains(&text)))
            .collect();
        let graphs: BTreeSet<usize> = fresh.iter().flat_map(|pass| &pass.parts).map(|place| place.graph).collect();
        let timed = |graphs: &mut dyn Iterator<Item = usize>| -> Vec<(usize, ConfirmedCall)> {
            let of_graph = |graph| time(graph, &written.directory).into_iter().flatten().map(move |call| (graph, call));
            graphs.flat_map(of_graph).collect()
        };
        let calls = timed(&mut graphs.into_iter().take(GRAPHS));
        let mut next: Option<(Excluded, Written)> = None;
        for pass in fresh {
            let mut own: Vec<(usize, ConfirmedCall)> =
                calls.iter().filter(|(_, call)| call.pass == pass.name).cloned().collect();
            settled.extend(text(pass));
            counts.timed += usize::from(!own.is_empty());
            let mut loss = Loss::of(&own);
            if let Some(Loss { graphs: Some(slower), .. }) = &loss {
                // A second timing has to agree, because other graphs may lose their gain with the pass.
                own.retain(|(graph, _)| !slower.contains(graph));
                own.extend(timed(&mut slower.iter().copied()).into_iter().filter(|(_, call)| call.pass == pass.name));
                loss = Loss::of(&own);
            }
            let Some(loss) = loss else { continue };
            let (left, known) = next.as_ref().map_or((&left, &written), |(left, known)| (left, known));
            let plan = |less: Excluded| {
                let replanned = write_passes_without(task, target, choices, &less);
                covered(known).is_subset(&covered(&replanned)).then_some((less, replanned))
            };
            let replanned = smaller(task, left, pass, &loss).into_iter().find_map(plan);
            let outcome = if replanned.is_some() { "" } else { "; it stays, since nothing else matches" };
            counts.dropped += usize::from(replanned.is_some());
            counts.losses.push(format!("{} {}{outcome}", pass.name, loss.reason));
            next = replanned.or(next);
        }
        let Some((less, replanned)) = next else { break };
        (left, written) = (less, replanned);
    }
    (written.directory, counts)
}

/// Returns the graphs in which something is replaced.
fn covered(written: &Written) -> BTreeSet<usize> {
    written.passes.iter().flat_map(|pass| &pass.parts).map(|place| place.graph).collect()
}

/// Returns sets of operations to leave to PyTorch so that less than a pass is written, from the most to the least promising.
/// Only the graphs in which it loses change. If the pass would still match them, the plan leaves its operations in all graphs.
fn smaller(task: &[TypedGraph], left: &Excluded, pass: &WrittenPass, loss: &Loss) -> Vec<Excluded> {
    let loses = |place: &&ReplacedPart| loss.graphs.as_ref().is_none_or(|graphs| graphs.contains(&place.graph));
    let places: Vec<&ReplacedPart> = pass.parts.iter().filter(loses).collect();
    let leaving = |nodes: &dyn Fn(&ReplacedPart) -> BTreeSet<NodeId>| {
        let mut left = left.clone();
        for place in &places {
            left.entry(place.graph).or_default().extend(nodes(place));
        }
        left
    };
    let all = leaving(&|place| place.nodes.clone());
    let has = |of: fn(&ReplacedPart) -> &BTreeSet<NodeId>| places.iter().any(|place| !of(place).is_empty());
    let is_part =
        |of: fn(&ReplacedPart) -> &BTreeSet<NodeId>| places.iter().all(|place| place.nodes.len() > of(place).len());
    let mut smaller = Vec::new();
    if has(|place| &place.products) && is_part(|place| &place.products) {
        smaller.push(leaving(&|place| place.products.clone()));
    }
    smaller.push(all);
    if has(|place| &place.views) && is_part(|place| &place.views) {
        smaller.push(leaving(&|place| place.nodes.difference(&place.views).copied().collect()));
    }
    // All places have the same operations in the same order.
    let count = places.iter().map(|place| place.nodes.len()).min().unwrap_or(0);
    let nbytes = |position: usize| -> i64 {
        let results = places.iter().filter_map(|place| Some((place.graph, *place.nodes.iter().nth(position)?)));
        let of = |(graph, node): (usize, NodeId)| {
            task[graph].tensor(task[graph].graph().value_of(node)).map(TensorType::nbytes)
        };
        results.filter_map(of).sum()
    };
    let mut positions: Vec<usize> = if count > 1 { (0..count).collect() } else { Vec::new() };
    positions.sort_by_key(|&position| nbytes(position));
    let without_others = |&position: &usize| {
        leaving(&|place| {
            let others = place.nodes.iter().enumerate().filter(|&(other, _)| other != position);
            others.map(|(_, &node)| node).collect()
        })
    };
    smaller.extend(positions.iter().take(SINGLES).map(without_others));
    smaller
}

#[cfg(test)]
mod tests {
    use passnet_graph::{Arg, Graph, Type};
    use passnet_record::DType;

    use super::*;

    fn call(pass: &str, pairs: &[[u64; 2]]) -> ConfirmedCall {
        ConfirmedCall { pass: pass.to_owned(), fault: None, pairs: pairs.to_vec() }
    }

    /// Returns a task with the graph `relu(linear(x, w) * 0.5)`.
    fn task() -> Vec<TypedGraph> {
        let mut builder = Graph::builder();
        let (x, w) = (builder.input("x"), builder.input("w"));
        let product = builder.call_function("product", "torch.nn.functional.linear", &[x.into(), w.into()], &[]);
        let scaled = builder.call_function("scaled", "operator.mul", &[product.into(), Arg::Float(0.5)], &[]);
        let relu = builder.call_function("relu", "torch.nn.functional.relu", &[scaled.into()], &[]);
        let graph = builder.finish(&[relu.into()]).unwrap();
        let types = vec![Type::Tensor(TensorType::contiguous(&[64, 64], DType::BFloat16)); graph.num_values()];
        vec![TypedGraph::new(graph, types).unwrap()]
    }

    #[test]
    fn a_product_that_loses_stays_with_the_library_and_the_rest_is_fused() {
        let text = |directory: &PassDirectory| {
            String::from_utf8(directory.file("fuse_0.py").unwrap_or_default().to_vec()).unwrap()
        };
        let task = task();
        let with = |pairs: &dyn Fn(bool) -> [u64; 2]| {
            let time = |_: usize, passes: &PassDirectory| {
                Some(vec![call("fuse_0", &[pairs(text(passes).contains("tl.dot")); 5])])
            };
            confirm_task(&task, Target::Cuda, &Choices::new(), &time)
        };
        let (kept, counts) = with(&|_| [20, 10]);
        assert!(text(&kept).contains("tl.dot"), "{}", text(&kept));
        assert_eq!((counts.timed, counts.losses.len()), (1, 0));
        let (dropped, counts) = with(&|has_product| if has_product { [10, 20] } else { [20, 10] });
        assert!(!text(&dropped).contains("tl.dot") && text(&dropped).contains("relu"), "{}", text(&dropped));
        assert_eq!(
            (counts.timed, counts.losses.as_slice()),
            (2, &["fuse_0 is 0.50 times as fast as eager mode".to_owned()][..])
        );
        // A graph that nothing matches counts as failed, so the last pass of one operation stays.
        let (last, counts) = with(&|_| [10, 20]);
        assert!(text(&last).contains("t0 = ") && !text(&last).contains("t1 = "), "{}", text(&last));
        assert_eq!((counts.timed, counts.dropped), (3, 2));
        assert_eq!(
            counts.losses.last().map(String::as_str),
            Some("fuse_0 is 0.50 times as fast as eager mode; it stays, since nothing else matches")
        );
    }

    /// Returns the graph `view(relu(x * 0.5))`, which flattens a square matrix.
    fn flattened(rows: i64) -> TypedGraph {
        let mut builder = Graph::builder();
        let x = builder.input("x");
        let scaled = builder.call_function("scaled", "operator.mul", &[x.into(), Arg::Float(0.5)], &[]);
        let relu = builder.call_function("relu", "torch.nn.functional.relu", &[scaled.into()], &[]);
        let flat = builder.call_method("flat", "view", &[relu.into(), Arg::Int(rows * rows)], &[]);
        let graph = builder.finish(&[flat.into()]).unwrap();
        let mut types = vec![Type::Tensor(TensorType::contiguous(&[rows, rows], DType::Float32)); graph.num_values()];
        types[graph.num_values() - 1] = Type::Tensor(TensorType::contiguous(&[rows * rows], DType::Float32));
        TypedGraph::new(graph, types).unwrap()
    }

    /// Confirms a task whose kernels win by 3 times in all graphs but `slow`. Returns the text of all passes, and the counts.
    fn confirmed_without(task: &[TypedGraph], slow: usize) -> (String, Confirmed) {
        let texts = |passes: &PassDirectory| -> Vec<String> {
            let mut files: Vec<&(String, Vec<u8>)> = passes.files().iter().collect();
            files.retain(|(name, _)| name.ends_with(".py"));
            files.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).collect()
        };
        let time = |graph: usize, passes: &PassDirectory| {
            let fused = texts(passes).iter().position(|text| text.contains("relu"))?;
            Some(vec![call(&format!("fuse_{fused}"), &[[if graph == slow { 9 } else { 30 }, 10]; 5])])
        };
        let (kept, counts) = confirm_task(task, Target::Cpu, &Choices::new(), &time);
        (texts(&kept).concat(), counts)
    }

    #[test]
    fn a_pass_stays_in_the_graphs_where_it_wins() {
        let task = [flattened(64), flattened(32)];
        let (text, counts) = confirmed_without(&task, 1);
        assert!(text.contains("relu") && text.contains("t1.view(4096)"), "{text}");
        assert!(text.contains("in0.view(1024)") && !text.contains("(32, 32)"), "{text}");
        assert_eq!(counts.losses, ["fuse_0 is 0.90 times as fast as eager mode in 1 of 2 graphs"]);
    }

    #[test]
    fn a_graph_that_is_slower_once_keeps_the_pass() {
        let timed = std::cell::Cell::new(0);
        let time = |graph: usize, _: &PassDirectory| {
            timed.set(timed.get() + 1);
            Some(vec![call("fuse_0", &[[if (graph, timed.get()) == (1, 2) { 9 } else { 30 }, 10]; 5])])
        };
        let task = [flattened(64), flattened(32)];
        let (kept, counts) = confirm_task(&task, Target::Cpu, &Choices::new(), &time);
        assert_eq!(kept, write_passes_without(&task, Target::Cpu, &Choices::new(), &Excluded::new()).directory);
        assert_eq!((timed.get(), counts.losses.len()), (3, 0));
    }

    #[test]
    fn a_pass_that_cannot_tell_a_slower_graph_from_the_others_is_dropped() {
        let transposed = |rows: i64| {
            let mut builder = Graph::builder();
            let x = builder.input("x");
            let scaled = builder.call_function("scaled", "operator.mul", &[x.into(), Arg::Float(0.5)], &[]);
            let relu = builder.call_function("relu", "torch.nn.functional.relu", &[scaled.into()], &[]);
            let turned = builder.call_method("turned", "t", &[relu.into()], &[]);
            let graph = builder.finish(&[turned.into()]).unwrap();
            let matrix = TensorType::contiguous(&[rows, rows], DType::Float32);
            let mut types = vec![Type::Tensor(matrix.clone()); graph.num_values()];
            types[graph.num_values() - 1] = Type::Tensor(TensorType { stride: vec![1, rows], ..matrix });
            TypedGraph::new(graph, types).unwrap()
        };
        let (text, counts) = confirmed_without(&[transposed(64), transposed(32)], 1);
        assert!(text.contains("in0.t()") && !text.contains("relu"), "{text}");
        assert_eq!(counts.losses, ["fuse_0 is 0.90 times as fast as eager mode in 1 of 2 graphs"]);
    }

    #[test]
    fn a_pass_that_loses_repeats_a_view() {
        let mut builder = Graph::builder();
        let x = builder.input("x");
        let scaled = builder.call_function("scaled", "operator.mul", &[x.into(), Arg::Float(0.5)], &[]);
        let relu = builder.call_function("relu", "torch.nn.functional.relu", &[scaled.into()], &[]);
        let turned = builder.call_method("turned", "t", &[relu.into()], &[]);
        let graph = builder.finish(&[turned.into()]).unwrap();
        let mut types = vec![Type::Tensor(TensorType::contiguous(&[64, 64], DType::Float32)); graph.num_values()];
        types[graph.num_values() - 1] =
            Type::Tensor(TensorType { stride: vec![1, 64], ..TensorType::contiguous(&[64, 64], DType::Float32) });
        let task = [TypedGraph::new(graph, types).unwrap()];
        let time = |_: usize, passes: &PassDirectory| {
            let text = String::from_utf8_lossy(passes.file("fuse_0.py").unwrap()).into_owned();
            Some(vec![call("fuse_0", &[if text.contains("relu") { [10, 20] } else { [10, 10] }; 5])])
        };
        let (kept, counts) = confirm_task(&task, Target::Cpu, &Choices::new(), &time);
        let text = String::from_utf8_lossy(kept.file("fuse_0.py").unwrap()).into_owned();
        assert!(text.contains("in0.t()") && !text.contains("relu"), "{text}");
        assert!(text.contains("as it was"), "{text}");
        // A pass that repeats a call is not timed.
        assert_eq!((counts.timed, counts.dropped), (1, 1));
    }
}
