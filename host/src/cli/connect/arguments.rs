//! The arguments of an entry that is there, together with those that are wanted now.

/// Flags without a value.
const SWITCHES: [&str; 5] = [
    "--simulate",
    "--no-capture",
    "--allow-unsafe",
    "--audit",
    "--no-audit",
];

/// Flags that say where answers come from: an entry that had them must not go on with the simulator unless it is asked
/// for again.
const SIMULATOR: [&str; 2] = ["--simulate", "--pace"];

/// The wanted arguments, and after them the flags of the present ones that nobody asks to change: a person may have
/// added them by hand.
pub fn merged(present: &[String], wanted: &[String]) -> Vec<String> {
    let mut all = wanted.to_vec();
    let changed: Vec<&str> = wanted.iter().map(|argument| name(argument)).collect();
    let mut rest = present.iter().peekable();
    while let Some(argument) = rest.next() {
        let flag = name(argument);
        let value = if takes_next(argument) {
            rest.next_if(|next| !next.starts_with("--"))
        } else {
            None
        };
        let is_kept =
            flag.starts_with("--") && !SIMULATOR.contains(&flag) && !changed.contains(&flag);
        if is_kept {
            all.push(argument.clone());
            all.extend(value.cloned());
        }
    }
    all
}

/// The name of a flag, without the value after its equals sign.
fn name(argument: &str) -> &str {
    argument.split('=').next().unwrap_or_default()
}

fn takes_next(argument: &str) -> bool {
    argument.starts_with("--") && !argument.contains('=') && !SWITCHES.contains(&argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn flags_that_a_person_added_stay_and_the_wanted_ones_win() {
        for (present, wanted, expected) in [
            ("stdio", "stdio", "stdio"),
            ("old", "stdio", "stdio"),
            (
                "stdio --max-output 4096 --no-capture",
                "stdio --budget-usd-per-day 2",
                "stdio --budget-usd-per-day 2 --max-output 4096 --no-capture",
            ),
            (
                "stdio --budget-usd-per-day=1 --keep=1h",
                "stdio --budget-usd-per-day 2",
                "stdio --budget-usd-per-day 2 --keep=1h",
            ),
            (
                "stdio --simulate --pace 0 --keep 1h",
                "stdio",
                "stdio --keep 1h",
            ),
            (
                "stdio --simulate --pace 0",
                "stdio --simulate",
                "stdio --simulate",
            ),
            ("", "stdio", "stdio"),
        ] {
            let all = merged(&words(present), &words(wanted));
            assert_eq!(all, words(expected), "{present} and {wanted}");
        }
    }
}
