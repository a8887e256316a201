//! Runs as HTML pages.
//!
//! [`report_page`] turns runs over one suite into one HTML file. A [`Site`] has a page for every run, task, evaluation and pair of
//! runs; [`Site::render`] returns one page, for a server or for static files. Every page is one file with its styles and scripts.
//! All content can be read without scripts; scripts add sorting and filters.
//!
//! The crate never reads files and never refers to a font, script or picture of another host. Text from authors and workers is
//! never trusted: it is escaped, and the content security policy of the page forbids it to load or run anything.
//!
//! ```
//! use passnet_web::report_page;
//!
//! let page = report_page(&[]);
//! assert!(page.starts_with("<!DOCTYPE html>") && page.contains("No runs were given."));
//! ```

mod compare;
mod comparison_text;
mod contests;
mod costs;
mod curves;
mod draw;
mod environment;
mod failures;
mod families;
mod figures;
mod format;
mod highlight;
mod leaderboard;
mod line_diff;
mod live;
mod metadata;
mod page;
mod pages;
mod plain;
mod published;
pub mod ranking;
mod shell;
mod site;
mod standings;
pub mod study;
mod tasks;
mod training_course;
mod traits;
mod view;

pub use compare::cautions;
pub use comparison_text::comparison_report;
pub use figures::{FigureSeries, category, figures};
pub use live::{LiveFailure, LiveRun};
pub use page::report_page;
pub use pages::comparison::compare;
pub use plain::{PlainCurve, PlainPage, PlainPart, plain_page};
pub use shell::{content_security_policy, live_content_security_policy};
pub use site::{PageId, Site, SuiteTraits};
pub use traits::{GraphTraits, OperationKind};
pub use view::{
    Archive, BisectedView, DatasetView, GraphView, LintFinding, Origin, PassSet, PassText, RunView, SampleLine,
    TableView, TrainingView, TrajectoryView, Trials, Turn,
};
