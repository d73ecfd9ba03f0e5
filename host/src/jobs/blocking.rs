//! The one way in which blocking calls leave the runtime.

use super::error::JobsError;

/// Runs a function that may block on a thread for blocking work.
///
/// # Errors
/// Those of the function, and [`JobsError::Defect`] where it panicked or the runtime ended.
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
