//! The network, from outside: one program of all tests, since each program is linked by itself.

mod adaptive;
mod back_pressure;
mod bottleneck;
mod common;
mod congestion;
mod cuts;
mod drawings;
mod faults;
mod flits;
mod flow_oracle;
mod max_rate;
mod models;
mod nic_links;
mod packet;
mod packet_flits;
mod routings;
mod scenarios;
mod short_messages;
mod short_messages_any;
mod statistics;
mod support;
mod survey;
mod topologies;
mod transactions;
mod ways_around;
