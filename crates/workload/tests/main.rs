//! Workloads, from outside: one program of all tests, since each program is linked by itself.

mod causality;
mod chakra;
mod common;
mod counts;
mod dumpi_fuzz;
mod dumpi_reader;
mod graphs;
mod hct;
mod one_rank;
mod order;
mod otf2_reader;
mod otf2_replay;
mod readers;
mod readers_fuzz;
mod recordings;
mod replay;
mod scalatrace;
mod scale;
