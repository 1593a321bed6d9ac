//! A metric over a plane of two settings: text, Markdown, CSV, and a heat map.
//!
//! The heat map's colours fall monotonically in luminance (stops of the cividis map by Nunez, Anderton and Renslow,
//! 2018, designed for colour vision deficiency), which also suits print. Each cell shows its number.

use std::fmt::Write as _;

use compare::{Panel, Plane, Point};
use model::csv;
use serde_json::{Value, json};

use super::value::value;
use crate::style::{Style, printable};
use crate::table::{push_table, table};

const CELL: (f64, f64) = (86.0, 34.0);
const LEFT: f64 = 96.0;
const TOP: f64 = 74.0;
const GAP: f64 = 60.0;
/// From the smallest value to the largest.
const STOPS: [(f64, f64, f64); 6] = [
    (254.0, 232.0, 56.0),
    (202.0, 185.0, 105.0),
    (149.0, 143.0, 120.0),
    (102.0, 105.0, 112.0),
    (51.0, 71.0, 109.0),
    (0.0, 34.0, 78.0),
];
/// A larger ratio of the largest value to the smallest gets a logarithmic scale.
const WIDE: f64 = 30.0;

/// A table for each panel, the largest y on top as in the chart.
pub fn plane_text(found: &Plane, style: Style) -> String {
    let mut text = format!("{}\n", style.heading(&title(found)));
    for panel in &found.panels {
        let mut rows = table(&headings(found), 1);
        for (y, cells) in found.y_values.iter().zip(&panel.cells).rev() {
            let values = cells.iter().map(|point| shown(point.as_ref(), &found.unit));
            rows.add_row(std::iter::once(printable(y)).chain(values));
        }
        let _ = writeln!(text, "\n{}", printable(&named(panel)));
        push_table(&mut text, &rows);
    }
    let _ = writeln!(text, "{}", style.faint(" means of the runs"));
    text
}

/// The same as Markdown.
pub fn plane_markdown(found: &Plane) -> String {
    let mut text = format!("**{}**\n", title(found));
    let cell = |text: &str| printable(text).replace('|', "\\|");
    for panel in &found.panels {
        let head: Vec<String> = headings(found).iter().map(|name| cell(name)).collect();
        let _ = writeln!(
            text,
            "\n{}\n\n| {} |\n|---|{}",
            cell(&named(panel)),
            head.join(" | "),
            "---:|".repeat(head.len() - 1)
        );
        for (y, cells) in found.y_values.iter().zip(&panel.cells).rev() {
            let values: Vec<String> = cells.iter().map(|point| shown(point.as_ref(), &found.unit)).collect();
            let _ = writeln!(text, "| {} | {} |", cell(y), values.join(" | "));
        }
    }
    text
}

/// A row for each cell, with unformatted numbers.
pub fn plane_csv(found: &Plane) -> String {
    let quoted = |text: &str| format!("\"{}\"", csv::plain(text).replace('"', "\"\""));
    let (x, y) = (quoted(&found.x), quoted(&found.y));
    let mut text = format!("panel,{x},{y},metric,unit,mean,least,most,runs\n");
    for (panel, at_y, at_x, point) in cells(found) {
        let numbers = point.map_or_else(
            || ",,,0".to_owned(),
            |point| format!("{},{},{},{}", point.mean, point.least, point.most, point.runs),
        );
        let words = [&panel.name, at_x, at_y, &found.metric, &found.unit].map(|word| quoted(word)).join(",");
        let _ = writeln!(text, "{words},{numbers}");
    }
    text
}

/// The same as JSON.
pub fn plane_json(found: &Plane) -> Value {
    let cell = |(panel, y, x, point): (&Panel, &String, &String, Option<Point>)| {
        json!({
            "panel": panel.name, "x": x, "y": y, "mean": point.map(|point| point.mean),
            "least": point.map(|point| point.least), "most": point.map(|point| point.most),
            "runs": point.map_or(0, |point| point.runs),
        })
    };
    json!({
        "metric": found.metric, "unit": found.unit, "x": found.x, "y": found.y, "simulated": found.simulated,
        "x_values": found.x_values, "y_values": found.y_values, "cells": cells(found).map(cell).collect::<Vec<_>>(),
    })
}

/// The heat map.
pub fn plane_svg(found: &Plane) -> String {
    let (columns, rows) = (found.x_values.len() as f64, found.y_values.len() as f64);
    let panel_width = columns * CELL.0 + GAP;
    let width = LEFT + panel_width * found.panels.len() as f64;
    let height = TOP + rows * CELL.1 + 96.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" role=\"img\">\n<title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"600\">{0}</text>\n",
        escaped(&title(found)),
    );
    let scale = Scale::of(found);
    for (at, panel) in found.panels.iter().enumerate() {
        let left = LEFT + panel_width * at as f64;
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"600\">{}</text>",
            TOP - 14.0,
            escaped(&panel.name)
        );
        panel_svg(&mut text, found, panel, &scale, left);
    }
    legend(&mut text, found, &scale, TOP + rows * CELL.1 + 56.0);
    text.push_str("</svg>\n");
    text
}

fn panel_svg(text: &mut String, found: &Plane, panel: &Panel, scale: &Scale, left: f64) {
    let rows = found.y_values.len();
    let bottom = TOP + rows as f64 * CELL.1;
    for (row, cells) in panel.cells.iter().enumerate() {
        let y = TOP + (rows - 1 - row) as f64 * CELL.1;
        for (column, point) in cells.iter().enumerate() {
            let corner = (left + column as f64 * CELL.0, y);
            cell_svg(text, corner, *point, scale, &found.unit);
        }
        label(text, (left - 8.0, y + CELL.1 / 2.0 + 4.0), "text-anchor=\"end\"", &found.y_values[row]);
    }
    for (column, name) in found.x_values.iter().enumerate() {
        let x = left + (column as f64 + 0.5) * CELL.0;
        label(text, (x, bottom + 18.0), "text-anchor=\"middle\"", name);
    }
    let middle = left + found.x_values.len() as f64 * CELL.0 / 2.0;
    label(text, (middle, bottom + 36.0), "text-anchor=\"middle\" fill=\"#555\"", &found.x);
    label(text, (left - 8.0, TOP - 14.0), "text-anchor=\"end\" fill=\"#555\"", &found.y);
}

fn cell_svg(text: &mut String, (x, y): (f64, f64), point: Option<Point>, scale: &Scale, unit: &str) {
    let (fill, ink) = point.map_or(("#fff".to_owned(), "#777"), |point| scale.colours(point.mean));
    let _ = writeln!(
        text,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{fill}\" stroke=\"#fff\"/>\
         <text x=\"{}\" y=\"{}\" fill=\"{ink}\" text-anchor=\"middle\">{}</text>",
        CELL.0,
        CELL.1,
        x + CELL.0 / 2.0,
        y + CELL.1 / 2.0 + 4.0,
        escaped(&shown(point.as_ref(), unit)),
    );
}

fn label(text: &mut String, (x, y): (f64, f64), attributes: &str, words: &str) {
    let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\" {attributes}>{}</text>", escaped(words));
}

fn legend(text: &mut String, found: &Plane, scale: &Scale, top: f64) {
    const STEPS: usize = 40;
    for step in 0..STEPS {
        let colour = colour(step as f64 / (STEPS - 1) as f64);
        let _ = writeln!(
            text,
            "<rect x=\"{}\" y=\"{top}\" width=\"5\" height=\"10\" fill=\"{colour}\"/>",
            LEFT + 5.0 * step as f64
        );
    }
    let log = if scale.log { ", logarithmic" } else { "" };
    let made = if found.simulated { "; simulated, not measured" } else { "" };
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{}\" fill=\"#555\">{} to {}{log}; means of the runs; -: unknown{made}</text>",
        top + 26.0,
        escaped(&value(scale.least, &found.unit)),
        escaped(&value(scale.most, &found.unit)),
    );
}

/// From values to colours, the same for all panels.
struct Scale {
    least: f64,
    most: f64,
    log: bool,
}

impl Scale {
    fn of(found: &Plane) -> Scale {
        let all = || cells(found).filter_map(|(.., point)| Some(point?.mean));
        let (least, most) = (all().reduce(f64::min).unwrap_or(0.0), all().reduce(f64::max).unwrap_or(0.0));
        Scale { least, most, log: least > 0.0 && most / least > WIDE }
    }

    /// The colour of a cell, and that of the number in it.
    fn colours(&self, value: f64) -> (String, &'static str) {
        let place = |value: f64| if self.log { value.ln() } else { value };
        let span = place(self.most) - place(self.least);
        let share = if span > 0.0 { (place(value) - place(self.least)) / span } else { 0.0 };
        (colour(share), if share > 0.45 { "#fff" } else { "#111" })
    }
}

fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let at = (place as usize).min(STOPS.len() - 2);
    let rest = place - at as f64;
    let mix = |from: f64, to: f64| (from + (to - from) * rest).round() as u8;
    let (from, to) = (STOPS[at], STOPS[at + 1]);
    format!("#{:02x}{:02x}{:02x}", mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

fn cells(found: &Plane) -> impl Iterator<Item = (&Panel, &String, &String, Option<Point>)> {
    found.panels.iter().flat_map(move |panel| {
        let rows = found.y_values.iter().zip(&panel.cells);
        rows.flat_map(move |(y, cells)| found.x_values.iter().zip(cells).map(move |(x, point)| (panel, y, x, *point)))
    })
}

fn title(found: &Plane) -> String {
    let made = if found.simulated { " (simulated)" } else { "" };
    format!("{} over {} and {}{made}", printable(&found.metric), printable(&found.x), printable(&found.y))
}

fn named(panel: &Panel) -> String {
    if panel.name.is_empty() { "all runs".to_owned() } else { panel.name.clone() }
}

fn headings(found: &Plane) -> Vec<&str> {
    std::iter::once("").chain(found.x_values.iter().map(String::as_str)).collect()
}

fn shown(point: Option<&Point>, unit: &str) -> String {
    point.map_or_else(|| "-".to_owned(), |point| value(point.mean, unit))
}

fn escaped(text: &str) -> String {
    super::svg::escaped(text)
}
