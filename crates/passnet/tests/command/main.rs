//! The command from end to end. One program holds all of it: most of the time goes to PyTorch being loaded, to compilers and to
//! waiting for the core that measures, and tests of different programs would not run beside each other.

mod agent;
mod cli;
mod dataset;
mod tuning;
