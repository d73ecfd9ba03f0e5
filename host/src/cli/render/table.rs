//! Tables: columns as wide as their cells, narrower where the line has no room, with cells that wrap.

use textwrap::core::display_width;

use super::Terminal;
use super::words::{BOLD, DIM};
use crate::answers::{Alignment, Table};

/// Between two columns.
const GAP: &str = "  ";
/// No column is made narrower than this.
const NARROWEST: usize = 4;

/// Returns the lines of a table in so many characters.
pub fn lines(terminal: Terminal, table: &Table, room: usize) -> Vec<String> {
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .enumerate()
        .map(|(number, cells)| {
            let base = if number == 0 { BOLD } else { "" };
            let cells = cells.iter().map(|cell| terminal.words(cell, base));
            cells.collect()
        })
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths = widths(&rows, columns, room);
    let mut lines = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        lines.extend(row_lines(row, &widths, &table.columns));
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(terminal.styled(DIM, &rule.join(GAP)));
        }
    }
    lines
}

/// Takes width from the widest column until all fit.
fn widths(rows: &[Vec<String>], columns: usize, room: usize) -> Vec<usize> {
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| display_width(cell)).max().unwrap_or(1)
    };
    let mut widths: Vec<usize> = (0..columns).map(|column| widest(column).max(1)).collect();
    let gaps = GAP.len() * columns.saturating_sub(1);
    loop {
        let total = widths.iter().sum::<usize>() + gaps;
        match widths.iter_mut().max() {
            Some(widest) if total > room && *widest > NARROWEST => *widest -= 1,
            _ => return widths,
        }
    }
}

fn row_lines(row: &[String], widths: &[usize], columns: &[Alignment]) -> Vec<String> {
    let cells: Vec<Vec<String>> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| {
            let cell = row.get(at).map_or("", String::as_str);
            let wrapped = textwrap::wrap(cell, *width);
            wrapped.into_iter().map(|line| line.into_owned()).collect()
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    (0..height)
        .map(|line| {
            let parts = cells
                .iter()
                .zip(widths)
                .enumerate()
                .map(|(at, (cell, width))| {
                    let text = cell.get(line).map_or("", String::as_str);
                    aligned(
                        text,
                        *width,
                        columns.get(at).copied().unwrap_or(Alignment::Left),
                    )
                });
            let parts: Vec<String> = parts.collect();
            parts.join(GAP).trim_end().to_owned()
        })
        .collect()
}

fn aligned(text: &str, width: usize, alignment: Alignment) -> String {
    let free = width.saturating_sub(display_width(text));
    let before = match alignment {
        Alignment::Left => 0,
        Alignment::Center => free / 2,
        Alignment::Right => free,
    };
    format!("{}{text}{}", " ".repeat(before), " ".repeat(free - before))
}
