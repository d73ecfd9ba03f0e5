//! A reply as steps in time, and their player.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;

use super::log::Entry;

/// Long enough that what was given to the connection is written before what follows.
const FLUSH: Duration = Duration::from_millis(2);

/// One step of a reply.
#[derive(Clone, Debug)]
pub enum Step {
    /// Waits; the time is as measured and is scaled by the pace.
    Wait(Duration),
    /// Lets go what was given so far, whatever the pace.
    Flush,
    /// Waits for this time, whatever the pace.
    Pause(Duration),
    /// Sends bytes of the body.
    Send(Bytes),
    /// Sends nothing more and keeps the connection.
    Stall,
    /// Breaks the connection.
    Reset,
}

/// Steps, made as they are needed: a reply may be endless.
pub type Steps = Box<dyn Iterator<Item = Step> + Send>;

struct Playing {
    steps: Steps,
    pace: f64,
    entry: Entry,
    over: bool,
}

/// Plays the steps as a body, noting in `entry` what was sent and how it ended.
pub fn play(steps: Steps, pace: f64, entry: Entry) -> impl Stream<Item = io::Result<Bytes>> + Send {
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
