//! Asks the person at the terminal before a costly call.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;

use super::terminal::one_line;
use crate::jobs::Micros;
use crate::settings::Settings;

/// The flag of commands that can cost money.
#[derive(Args, Clone, Copy, Debug)]
pub struct Confirm {
    /// Do not ask before a call that could cost more than confirm_over_usd
    #[arg(long, short)]
    yes: bool,
}

/// Returns the cost above which a person is asked.
fn limit(settings: &Settings) -> Option<Micros> {
    let micros = settings.confirm_over.value?;
    Some(Micros(i64::try_from(micros).unwrap_or(i64::MAX)))
}

impl Confirm {
    /// Asks the person where a call that could cost so much needs that.
    ///
    /// # Errors
    /// Why the call is not to be made, in words for a person.
    pub async fn ask(self, settings: &Settings, worst_cost: Micros) -> Result<(), String> {
        let limit = self.unconfirmed_over(settings);
        let Some(limit) = limit.filter(|limit| worst_cost > *limit) else {
            return Ok(());
        };
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(refusal(worst_cost, limit));
        }
        let question = format!(
            "glovebox: this call can cost up to {worst_cost}, and calls above {limit} need a yes; make it? [y/N] "
        );
        let answer = tokio::task::spawn_blocking(move || read_answer(&question)).await;
        match answer {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("not confirmed; nothing was sent".to_owned()),
            Ok(Err(error)) => Err(format!(
                "the answer cannot be read: {error}; nothing was sent"
            )),
            Err(error) => Err(format!(
                "the answer cannot be read: {error}; nothing was sent"
            )),
        }
    }

    /// Returns the cost above which a call needs a yes that was not given.
    #[must_use]
    pub fn unconfirmed_over(self, settings: &Settings) -> Option<Micros> {
        limit(settings).filter(|_| !self.yes)
    }
}

/// Says why a call that nobody can be asked about is not made.
#[must_use]
pub fn refusal(worst_cost: Micros, limit: Micros) -> String {
    format!(
        "this call could cost {worst_cost}, more than the {limit} of --confirm-over-usd, and there is no terminal to ask at; nothing was sent. Confirm with --yes, or raise the limit"
    )
}

fn read_answer(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(one_line(question).as_bytes())?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
