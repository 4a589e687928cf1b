//! The contents of messages: what they are made of, how they are combined, and where they wait.

pub mod agreement;
pub mod datatype;
pub mod derived;
pub mod meeting;
pub mod operator;
pub mod parcel;
