//! `passnet traj`: trajectories as data.

mod teach;

use std::process::ExitCode;

use anyhow::Result;
use fs_err as fs;
use passnet_agent::corpus::{self, Criteria, EvaluationTasks, Format, TrajectoryStats};
use passnet_dataset::{
    open_suite,
    store::{TableWriter, TrajectoryRow},
};
use passnet_flags::{FilterArgs, SplitArgs, TrajCommand, TrajDedupArgs, TrajExportArgs, TrajFormat, TrajStatsArgs};
use passnet_record::{agent::Trajectory, counted};
use passnet_run::Selection;

use crate::{
    failure::{check_file, check_folder, usage},
    output,
};

/// Runs a subcommand.
pub(crate) fn run(command: &TrajCommand) -> Result<ExitCode> {
    match command {
        TrajCommand::Stats(args) => stats(args),
        TrajCommand::Filter(args) => filter(args),
        TrajCommand::Dedup(args) => dedup(args),
        TrajCommand::Split(args) => split(args),
        TrajCommand::Export(args) => export(args),
        TrajCommand::Teach(args) => teach::run(args),
    }
}

fn stats(args: &TrajStatsArgs) -> Result<ExitCode> {
    let mut stats = TrajectoryStats::default();
    let mut is_empty = true;
    for trajectory in corpus::read(&args.inputs)? {
        stats.add(&trajectory?);
        is_empty = false;
    }
    if is_empty {
        let inputs: Vec<_> = args.inputs.iter().map(|path| path.display().to_string()).collect();
        return Err(usage(format!(
            "{}: there are no trajectories; `passnet agent run` writes them",
            inputs.join(", ")
        )));
    }
    let stats = stats.finish();
    if let Some(path) = &args.html {
        fs::write(path, corpus::page(&stats))?;
    }
    if args.json {
        output::json(&stats)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::report(&stats.text_report())?;
    Ok(ExitCode::SUCCESS)
}

fn filter(args: &FilterArgs) -> Result<ExitCode> {
    let criteria = Criteria {
        min_score: args.min_score,
        min_reward: args.min_reward,
        correct: args.correct,
        honest: args.honest,
        clean: args.clean,
        max_steps: args.max_steps,
        max_tokens: args.max_tokens,
        novel: args.novel,
        styles: args.style.iter().copied().collect(),
        model: args.model.clone(),
    };
    check_file(&args.out)?;
    let selector = corpus::filter(&args.inputs, criteria, &args.out)?;
    output::text(&selector.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn dedup(args: &TrajDedupArgs) -> Result<ExitCode> {
    check_file(&args.out)?;
    let (kept, total) = corpus::dedup(&args.inputs, args.by, &args.out)?;
    output::text(&format!("{kept} of {total} kept"))?;
    Ok(ExitCode::SUCCESS)
}

fn split(args: &SplitArgs) -> Result<ExitCode> {
    if !(0.0..=1.0).contains(&args.validation) {
        return Err(usage(format!("--validation {}: a share is between 0 and 1", args.validation)));
    }
    check_folder(&args.out)?;
    let mut evaluation = EvaluationTasks::default();
    for path in &args.eval_suite {
        evaluation.add(&open_suite(path, &Selection::default())?)?;
    }
    let report = corpus::split(&args.inputs, evaluation, args.validation, &args.out)?;
    let excluded: usize = report.excluded.values().sum();
    output::text(&format!(
        "{} for training, {} for validation, {excluded} left out as evaluation tasks; compared with {} and {}, none shared",
        report.train,
        report.validation,
        counted(report.evaluation_graphs, "graph"),
        counted(report.evaluation_ops, "op sequence")
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn export(args: &TrajExportArgs) -> Result<ExitCode> {
    check_file(&args.out)?;
    let format = match args.format {
        TrajFormat::Openai => Format::OpenAi,
        TrajFormat::Sharegpt => Format::ShareGpt,
        TrajFormat::Parquet => return export_table(args),
    };
    let count = corpus::export(&args.inputs, format, &args.out)?;
    output::text(&format!("{} in {}", counted(count, "line"), args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn export_table(args: &TrajExportArgs) -> Result<ExitCode> {
    let mut table = TableWriter::<TrajectoryRow>::create(&args.out)?;
    let mut count = 0;
    for trajectory in corpus::read(&args.inputs)? {
        table.push(row(&trajectory?)?)?;
        count += 1;
    }
    table.finish()?;
    output::text(&format!("{} in {}", counted(count, "row"), args.out.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn row(trajectory: &Trajectory) -> Result<TrajectoryRow> {
    let example = corpus::example(trajectory, Format::OpenAi);
    let (correct, graphs) = trajectory.correct();
    Ok(TrajectoryRow {
        id: trajectory.id.to_string(),
        suite: trajectory.setup.suite.clone(),
        split: trajectory.setup.split.to_string(),
        task: trajectory.setup.task.id.clone(),
        ops: trajectory.setup.task.ops.clone(),
        graph_hashes: trajectory.setup.task.graph_hashes.iter().map(ToString::to_string).collect(),
        model: trajectory.setup.model.clone(),
        attempt: i64::from(trajectory.setup.attempt),
        exit: trajectory.exit.name().to_owned(),
        score: trajectory.score,
        reward: trajectory.reward.value,
        correct: correct as i64,
        graphs: graphs as i64,
        steps: trajectory.steps.len() as i64,
        input_tokens: trajectory.usage.input as i64,
        output_tokens: trajectory.usage.output as i64,
        rules_broken: trajectory.findings.clone(),
        messages: example["messages"].to_string(),
        tools: example["tools"].as_str().unwrap_or_default().to_owned(),
        passes: serde_json::to_string(&trajectory.passes)?,
        record: serde_json::to_string(trajectory)?,
    })
}
