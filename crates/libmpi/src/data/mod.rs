//! The contents of messages: what they are made of, how they are combined, and where they wait.

pub mod aggregation;
pub mod agreement;
pub mod basic;
pub mod channel;
pub mod copying;
pub mod datatype;
pub mod derived;
pub mod external;
pub mod file;
pub mod folded;
pub mod meeting;
pub mod operator;
pub mod parcel;
pub mod remote_memory;
pub mod spread;
pub mod touched;
pub mod type_map;
pub mod window;
