//! Pages from folders: reads runs, suites, datasets and trajectories, and shows them as a site of `passnet-web`.
//!
//! ```text
//! runs, bundles ────────────┐
//! suites ─► types (PyTorch) ├─► Site + RunLibrary ──► publish: files in a folder
//! dataset, trajectories ────┘                     └──► serve: HTTP, for a browser
//! ```
//!
//! [`publish()`] writes every page as a file. A [`Shelf`] updates the pages of a folder of runs, and [`serve()`] answers
//! requests from it. The crate never prints: remarks go to the caller.
//!
//! ```no_run
//! use passnet_site::{Extras, Shelf, serve};
//!
//! let extras = Extras { suites: &["suites/demo".into()], ..Extras::default() };
//! let shelf = Shelf::open("runs".as_ref(), &extras, &|remark| println!("{remark}"))?;
//! serve(shelf, "127.0.0.1:8420".parse()?, None, None, &|url| Ok(println!("{url}")))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bisected;
mod bundles;
mod dataset;
mod error;
mod extras;
mod fleet_metrics;
mod graphs;
mod live;
mod publish;
mod reading;
mod serve;
mod shelf;
mod similar;
mod training;
mod trajectories;

pub use self::{
    error::SiteError,
    extras::Extras,
    publish::{SiteSize, publish},
    serve::{SubmitterAddress, serve},
    shelf::Shelf,
};
