//! Runs blocking calls outside the async runtime.

use super::error::JobsError;

/// Runs a function on a thread for blocking work.
///
/// # Errors
/// The errors of the function, and [`JobsError::Defect`] if it panicked or the runtime is shutting down.
pub async fn blocking<T, E>(
    call: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, JobsError>
where
    T: Send + 'static,
    E: Send + 'static,
    JobsError: From<E>,
{
    match tokio::task::spawn_blocking(call).await {
        Ok(result) => result.map_err(JobsError::from),
        Err(error) => Err(JobsError::Defect(error.to_string())),
    }
}
