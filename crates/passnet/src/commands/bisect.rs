//! `passnet bisect`: the smallest failing parts of failing graphs, as samples.

use std::{collections::BTreeSet, path::Path, process::ExitCode, sync::atomic::AtomicBool};

use anyhow::{Context as _, Result, anyhow};
use passnet_author::{Context, submission};
use passnet_dataset::open_suite;
use passnet_eval::{
    Candidate, Referee,
    bisect::{Bisection, bisect, values_of},
};
use passnet_graphnet::{GraphNetMeta, Sample, sample::write_sample_dir};
use passnet_record::{AuthorSpec, GraphId, counted};
use passnet_run::{GraphSample, SampleFolder, archive::load_run};
use serde_json::json;

use super::{authors::create, referee};
use crate::{
    args::BisectArgs,
    failure::{BAD, usage},
    output::{self, Rows},
};

/// Bisects each graph that fails. Exits with 1 if one does.
pub(crate) fn run(args: &BisectArgs) -> Result<ExitCode> {
    let (author, failed) = subject(args)?;
    referee::check_author(&author, args.measure.device)?;
    let suite = open_suite(&args.suite, &args.selection.selection())?;
    let referee = referee::start_for(&suite.record, &args.measure, Some(1))?;
    let scratch = tempfile::tempdir()?;
    let stop = AtomicBool::new(false);
    let context =
        Context { referee: &referee, directory: scratch.path(), stop: &stop, progress: &|step| eprintln!("{step}") };
    let submission = submission(create(&author)?.as_mut(), &suite, &context)?;
    let mut rows = Rows::new(&["graph", "status", "of", "nodes", "evaluations", "minimal"], 2);
    let mut found = 0;
    for id in suite.graphs().filter(|id| failed.as_ref().is_none_or(|failed| failed.contains(id))) {
        let Some(candidate) = submission.candidates.get(&id.task) else { continue };
        let name = format!("{}/{}", id.task, id.graph);
        let folder = SampleFolder::read(&suite.sample_dir(&id), id);
        let sample = folder.sample.map_err(|message| anyhow!("{name}: {message}"))?;
        let Some(part) = smallest(&referee, &sample, candidate, args.max_evaluations).context(name.clone())? else {
            eprintln!("{name}: does not fail");
            continue;
        };
        found += 1;
        save(&args.out.join(&name), &part, &author)?;
        rows.push([
            name,
            part.verdict.status.name().to_owned(),
            part.whole.to_string(),
            part.sample.graph().num_nodes().to_string(),
            part.evaluations.to_string(),
            if part.is_minimal { "yes" } else { "no" }.to_owned(),
        ]);
    }
    if found == 0 {
        output::text("no graph fails")?;
        return Ok(ExitCode::SUCCESS);
    }
    rows.print()?;
    eprintln!("{} in {}", counted(found, "failing part"), args.out.display());
    Ok(ExitCode::from(BAD))
}

/// The author, and the graphs that failed in the run, if one is given.
fn subject(args: &BisectArgs) -> Result<(AuthorSpec, Option<BTreeSet<GraphId>>)> {
    match (&args.run, &args.author) {
        (Some(run), _) => {
            let run = load_run(run)?;
            let failed = run.verdicts.iter().filter(|verdict| verdict.status.is_failure());
            Ok((run.header.author, Some(failed.map(|verdict| verdict.id.clone()).collect())))
        }
        (None, Some(author)) => Ok((author.clone(), None)),
        (None, None) => Err(usage("name an author with --author, or a run with --run")),
    }
}

fn smallest(referee: &Referee, sample: &GraphSample, candidate: &Candidate, most: usize) -> Result<Option<Bisection>> {
    let first = referee.check(sample, candidate)?;
    if !first.status.is_failure() {
        return Ok(None);
    }
    let values = values_of(sample, &referee.interpreter()).context("its values are not known")?;
    Ok(bisect(sample, &values, most, &mut |part| referee.check(part, candidate))?)
}

fn save(folder: &Path, part: &Bisection, author: &AuthorSpec) -> Result<()> {
    let found = json!({
        "author": author.to_string(),
        "status": part.verdict.status,
        "reason": part.verdict.reason,
        "nodes_of_whole": part.whole,
        "minimal": part.is_minimal,
    });
    let mut meta = GraphNetMeta {
        framework: Some("torch".to_owned()),
        model_name: Some(part.sample.id().graph.clone()),
        ..GraphNetMeta::default()
    };
    meta.other.insert("bisected".to_owned(), found);
    let sample = Sample {
        graph: part.sample.graph().clone(),
        tensors: part.sample.metas().to_vec(),
        meta,
        constraints: String::new(),
        graph_hash: None,
    };
    Ok(write_sample_dir(folder, &sample)?)
}
