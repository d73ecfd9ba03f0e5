//! Tables that fit the width of the terminal.

use std::io::{self, IsTerminal as _};

/// Between two columns.
const GAP: usize = 2;
/// A column of text is cut to no fewer characters; below that it is left out.
const LEAST_TEXT: usize = 12;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// Columns with a lower number are kept longer where there is no room for all.
    pub rank: u8,
    /// Whether its cells may be cut.
    pub text: bool,
}

/// Returns the width of the terminal that standard output is, in characters; `None` where it is no terminal.
#[must_use]
pub fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}

/// Returns the lines of a table: the headings and a line per row. Where `limit` is less than what all columns take, text is
/// cut, then columns are left out, those of the highest rank first.
#[must_use]
pub fn lines<const COLUMNS: usize>(
    columns: &[Column; COLUMNS],
    rows: &[[String; COLUMNS]],
    limit: Option<usize>,
) -> Vec<String> {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let heading = columns.get(at).map_or(0, |column| column.name.len());
        cells
            .map(|cell| cell.chars().count())
            .chain([heading])
            .max()
            .unwrap_or_default()
    };
    let mut shown: Vec<(usize, usize)> = (0..COLUMNS).map(|at| (at, width(at))).collect();
    if let Some(limit) = limit {
        fit(columns, &mut shown, limit);
    }
    let headings = columns.map(|column| column.name.to_owned());
    std::iter::once(&headings)
        .chain(rows)
        .map(|row| line(row, &shown))
        .collect()
}

/// Cuts the text, then leaves columns out, until all fits into the limit.
fn fit(columns: &[Column], shown: &mut Vec<(usize, usize)>, limit: usize) {
    loop {
        let total: usize = shown.iter().map(|(_, width)| width + GAP).sum();
        let over = total.saturating_sub(GAP).saturating_sub(limit);
        if over == 0 {
            return;
        }
        let column = |at: usize| columns.get(at);
        let text = shown.iter_mut().find(|(at, width)| {
            column(*at).is_some_and(|one| one.text) && *width >= LEAST_TEXT + over
        });
        if let Some((_, width)) = text {
            *width -= over;
            return;
        }
        let worst = shown
            .iter()
            .enumerate()
            .max_by_key(|(_, (at, _))| column(*at).map_or(0, |one| one.rank));
        match worst {
            Some((index, _)) if shown.len() > 1 => {
                shown.remove(index);
            }
            _ => return,
        }
    }
}

fn line(row: &[String], shown: &[(usize, usize)]) -> String {
    let mut line = String::new();
    for (at, width) in shown {
        let cell = cut(row.get(*at).map_or("", String::as_str), *width);
        line.push_str(&format!("{cell:<width$}{:GAP$}", ""));
    }
    line.trim_end().to_owned()
}

/// Returns a text of so many characters at most, with an ellipsis where it was cut.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column {
            name: "ID",
            rank: 0,
            text: false,
        },
        Column {
            name: "AGE",
            rank: 2,
            text: false,
        },
        Column {
            name: "QUESTION",
            rank: 1,
            text: true,
        },
    ];

    #[test]
    fn text_is_cut_first_and_then_columns_are_left_out() {
        let row = [["abc", "12m03s", "a question of some length"].map(str::to_owned)];
        let at = |limit| lines(&COLUMNS, &row, limit);
        assert_eq!(
            at(None),
            [
                "ID   AGE     QUESTION",
                "abc  12m03s  a question of some length"
            ]
        );
        assert_eq!(
            at(Some(30)),
            ["ID   AGE     QUESTION", "abc  12m03s  a question of so…"]
        );
        assert_eq!(at(Some(24)), ["ID   QUESTION", "abc  a question of some…"]);
        assert_eq!(at(Some(10)), ["ID", "abc"]);
    }
}
