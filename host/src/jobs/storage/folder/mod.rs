//! The state folder of one user: file locks as leases, files as captures.

pub mod captures;
pub mod leases;
pub mod state_dir;
