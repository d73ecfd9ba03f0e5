//! Changes the steps of a reply: compresses the body or splits it at random positions.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::steps::{Step, Steps};

/// The most parts that one part is split into.
const MAX_PIECES: usize = 3;

/// Compresses the body with gzip. Each part is flushed, so that it arrives when it is sent.
pub fn gzip(mut steps: Steps) -> Steps {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::default()));
    Box::new(std::iter::from_fn(move || match steps.next() {
        Some(Step::Send(bytes)) => {
            let encoder = encoder.as_mut()?;
            // Writing to memory does not fail.
            let _ = encoder.write_all(&bytes).and_then(|()| encoder.flush());
            Some(Step::Send(Bytes::from(std::mem::take(encoder.get_mut()))))
        }
        Some(step) => Some(step),
        None => encoder
            .take()?
            .finish()
            .ok()
            .map(|tail| Step::Send(Bytes::from(tail))),
    }))
}

/// Splits each part at random positions and sends the pieces separately.
pub fn split(steps: Steps, mut rng: fastrand::Rng) -> Steps {
    Box::new(steps.flat_map(move |step| match step {
        Step::Send(bytes) => pieces(bytes, &mut rng),
        step => vec![step],
    }))
}

fn pieces(mut bytes: Bytes, rng: &mut fastrand::Rng) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 1..MAX_PIECES {
        if bytes.len() < 2 {
            break;
        }
        let piece = bytes.split_to(rng.usize(1..bytes.len()));
        steps.extend([Step::Send(piece), Step::Flush]);
    }
    steps.extend([Step::Send(bytes), Step::Flush]);
    steps
}
