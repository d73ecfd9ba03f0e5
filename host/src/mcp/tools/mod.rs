//! The functions that run the tools.

pub mod answers;
pub mod audit;
pub mod job_text;
pub mod jobs;
pub mod research;
pub mod status;
