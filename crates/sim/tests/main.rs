//! Whole runs, from outside: one program of all tests, since each program is linked by itself.

mod control;
mod cuts;
mod domains;
mod faults;
mod jobs;
mod layers;
mod levels;
mod messages;
mod placements;
mod platform_files;
mod presets;
mod requests;
mod scenarios;
mod script;
mod share_done;
mod transport;
