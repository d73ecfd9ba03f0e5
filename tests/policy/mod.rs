//! The operator's control: what is listed, what is denied, what is asked about and what is recorded.

mod advice;
mod approval;
mod audit;
mod client;
mod command;
mod reload;
mod table;
mod tamper;
mod unsafe_tools;
