//! A reply as a sequence of steps, and the stream that plays it.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;

use super::log::RecordHandle;

/// Long enough to write the bytes that were passed to the connection before.
const FLUSH: Duration = Duration::from_millis(2);

/// One step of a reply.
#[derive(Clone, Debug)]
pub enum Step {
    /// Waits for a measured delay, multiplied by the pace.
    Wait(Duration),
    /// Waits until earlier bytes are written, at any pace.
    Flush,
    /// Waits for this time, at any pace.
    Pause(Duration),
    /// Sends bytes of the body.
    Send(Bytes),
    /// Sends nothing more and keeps the connection open.
    Stall,
    /// Resets the connection.
    Reset,
}

/// Lazily generated steps. A reply may be endless.
pub type Steps = Box<dyn Iterator<Item = Step> + Send>;

struct Playing {
    steps: Steps,
    pace: f64,
    entry: RecordHandle,
    over: bool,
}

/// Plays steps as a response body. `entry` records the bytes sent and the end.
pub fn play(
    steps: Steps,
    pace: f64,
    entry: RecordHandle,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    unfold(
        Playing {
            steps,
            pace,
            entry,
            over: false,
        },
        |mut playing| async move {
            let part = next_part(&mut playing).await?;
            Some((part, playing))
        },
    )
}

async fn next_part(playing: &mut Playing) -> Option<io::Result<Bytes>> {
    if playing.over {
        return None;
    }
    loop {
        match playing.steps.next() {
            Some(Step::Wait(wait)) if playing.pace > 0.0 => {
                tokio::time::sleep(wait.mul_f64(playing.pace)).await
            }
            Some(Step::Wait(_)) => tokio::task::yield_now().await,
            Some(Step::Flush) => tokio::time::sleep(FLUSH).await,
            Some(Step::Pause(pause)) => tokio::time::sleep(pause).await,
            Some(Step::Send(bytes)) => {
                playing.entry.sent(bytes.len());
                return Some(Ok(bytes));
            }
            Some(Step::Stall) => std::future::pending().await,
            Some(Step::Reset) => {
                tokio::time::sleep(FLUSH).await;
                playing.over = true;
                playing.entry.end("reset");
                return Some(Err(io::Error::from(io::ErrorKind::ConnectionReset)));
            }
            None => {
                playing.over = true;
                playing.entry.end("complete");
                return None;
            }
        }
    }
}
