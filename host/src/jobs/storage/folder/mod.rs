//! A storage in the state folder of a user: file locks as leases, files as captures.

pub mod captures;
pub mod leases;
pub mod state_dir;
