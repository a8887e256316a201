//! The questions that stages ask PyTorch, their answers, and the process on a node that answers them.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io::{BufRead, Write},
};

use passnet_record::stages::{HelperAnswer, HelperQuestion, StageHelper};
use passnet_services::{Helper, HelperError, HelperPool, Interpreter, PoolLimits};
use serde_json::Value;

use crate::{
    error::{FleetError, message},
    station::end_with_parent,
};

/// Answers questions until the end of the input, one at a time.
///
/// # Errors
/// If a line is not a question of this version, or this node cannot answer any question. The driver then asks another node.
pub fn serve_helpers(input: impl BufRead, mut output: impl Write) -> Result<(), FleetError> {
    end_with_parent();
    let mut pools: BTreeMap<(StageHelper, Option<u64>), HelperPool> = BTreeMap::new();
    for line in input.lines() {
        let HelperQuestion { id, version, helper, memory_bytes, question } = message(&line?)?;
        let node = env!("CARGO_PKG_VERSION");
        if version != node {
            return Err(FleetError::Versions { driver: version, node });
        }
        let pool = match pools.entry((helper, memory_bytes)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(start_pool(helper, memory_bytes)?),
        };
        let answer = pool.ask::<Value>(&question);
        if let Err(error @ HelperError::Start { .. }) = &answer {
            return Err(FleetError::Unfit(error.to_string()));
        }
        let answer = HelperAnswer { id, answer: answer.map_err(|error| error.to_string()) };
        // Plain data: writing it as JSON does not fail.
        let mut line = serde_json::to_vec(&answer).unwrap_or_default();
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()?;
    }
    Ok(())
}

/// Starts one helper, and returns it after its first answer.
fn start_pool(helper: StageHelper, memory_bytes: Option<u64>) -> Result<HelperPool, FleetError> {
    let limits = PoolLimits { processes: 1, memory_bytes };
    let pool = HelperPool::with_limits(Interpreter::find(), helper_of(helper), limits);
    pool.probe().map_err(|error| FleetError::Unfit(error.to_string()))?;
    Ok(pool)
}

const fn helper_of(helper: StageHelper) -> Helper {
    match helper {
        StageHelper::Annotate => Helper::Annotate,
        StageHelper::KernelCounts => Helper::KernelCounts,
        StageHelper::Prove => Helper::Prove,
    }
}
