//! The MPI library, from outside: one program of all tests, since each program is linked by itself.

mod access;
mod collectives;
mod common;
mod communicators;
mod deadlocks;
mod driving;
mod message_noise;
mod point_to_point;
mod progress;
mod protocols;
mod requests;
