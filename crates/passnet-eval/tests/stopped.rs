//! A run that is stopped while candidates hang ends without their verdicts, and continues.

#![allow(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod common;

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

use common::fake_referee;
use passnet_eval::{Candidate, Progress, Submission, run_suite};
use passnet_record::{AuthorSpec, PassDirectory};
use passnet_run::{RunLog, Selection, Suite};

const MODEL: &str = "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x):\n        \
                     y = torch.clone(x)\n        x = None\n        return (y,)\n";
const META: &str = "class Program_weight_tensor_meta_x:\n\tname = \"x\"\n\tshape = [4, 4]\n\tdtype = \"torch.float32\"\n\t\
                    device = \"cpu\"\n\tmean = 0.5\n\tstd = 1.0\n\tdata = None\n";

#[test]
fn evaluations_in_flight_are_killed_and_leave_no_verdict() {
    // Only the stop can end the hanging candidates before the limit of the test.
    let Some(referee) = fake_referee(|settings| settings.timeout_s = 100_000.0) else { return };
    let home = tempfile::tempdir().unwrap();
    for task in ["one", "two"] {
        let directory = home.path().join("suite").join(task).join("000");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("model.py"), MODEL).unwrap();
        fs::write(directory.join("weight_meta.py"), META).unwrap();
    }
    let suite = Suite::load(&home.path().join("suite"), &Selection::default()).unwrap();
    let run = home.path().join("run");
    let author = AuthorSpec::new("noop", None);
    let passes = |behaviour: &str| Candidate::Passes(PassDirectory::new([("behaviour", behaviour)]).unwrap());
    for behaviour in ["hang_in_load", "hang_in_call", "hang_in_time"] {
        let stop = AtomicBool::new(false);
        let at_once = |progress: Progress<'_>| {
            if let Progress::Begun(_) = progress {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let submission = Submission::uniform(author.clone(), &passes(behaviour), &suite);
        let outcome = run_suite(&referee, &suite, &submission, &run, &stop, &at_once).unwrap();
        assert!(!outcome.complete && outcome.verdicts.is_empty(), "{behaviour}: {:?}", outcome.verdicts);
    }
    let submission = Submission::uniform(author, &passes("honest"), &suite);
    let outcome = run_suite(&referee, &suite, &submission, &run, &AtomicBool::new(false), &|_| ()).unwrap();
    assert!(outcome.complete && outcome.verdicts.len() == 2);
    assert_eq!(RunLog::read(&run).unwrap().verdicts().len(), 2);
}
