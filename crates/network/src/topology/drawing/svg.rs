//! Writes a layout as SVG: title, picture, legend, and what was left out.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Layout, Line, Point, drawn_class, pair_name};
use crate::topology::link_classes::{ClassSurvey, classes};
use crate::topology::{HOST_CLASSES, Topology};

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 30.0;
const PICTURE_HEIGHT_MOST: f64 = 820.0;
/// Between two routers of a small network.
const SPACING_MOST: f64 = 140.0;
const LEGEND_MOST: usize = 14;

/// Colours that people with any colour vision can tell apart (Okabe and Ito 2008); hosts' links are grey.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195"];

/// From the layout's plane to the picture's.
struct Frame {
    scale: f64,
    shift: Point,
    height: f64,
}

impl Frame {
    fn of(layout: &Layout, top: f64) -> Frame {
        let points = layout
            .routers
            .iter()
            .map(|(_, at)| *at)
            .chain(layout.hosts.iter().map(|(_, at)| *at))
            .chain(layout.lines.iter().filter_map(Line::middle));
        let (mut low, mut high) = ([f64::MAX; 2], [f64::MIN; 2]);
        for point in points {
            for side in 0..2 {
                low[side] = low[side].min(point[side]);
                high[side] = high[side].max(point[side]);
            }
        }
        let pad = layout.spacing * 0.5;
        let extent = [high[0] - low[0] + 2.0 * pad, high[1] - low[1] + 2.0 * pad];
        let scale = ((WIDTH - 2.0 * MARGIN) / extent[0])
            .min(PICTURE_HEIGHT_MOST / extent[1])
            .min(SPACING_MOST / layout.spacing);
        let left = (WIDTH - extent[0] * scale) / 2.0;
        Frame {
            scale,
            shift: [left - (low[0] - pad) * scale, top - (low[1] - pad) * scale],
            height: extent[1] * scale,
        }
    }

    fn place(&self, point: Point) -> Point {
        [point[0] * self.scale + self.shift[0], point[1] * self.scale + self.shift[1]]
    }
}

/// The colour of the links that are drawn as `class`.
fn colour(class: usize, order: &[usize]) -> &'static str {
    match order.iter().position(|other| *other == class) {
        _ if class == 0 => "#9aa0a6",
        Some(place) => COLOURS[place % COLOURS.len()],
        None => "#444444",
    }
}

pub(super) fn write(topology: &dyn Topology, layout: &Layout, title: &str) -> String {
    let names = topology.classes();
    let mut order: Vec<usize> =
        (HOST_CLASSES.len()..names.len()).map(|class| drawn_class(&names, class)).collect();
    order.dedup();
    let frame = Frame::of(layout, 70.0);
    let legend = legend(topology, &names);
    let legend_top = 70.0 + frame.height + 36.0;
    let rows = legend.len().min(LEGEND_MOST) + layout.left_out.len() + 2;
    let height = legend_top + 22.0 * rows as f64 + 20.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"14\" fill=\"#202124\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"36\" font-size=\"{:.1}\" font-weight=\"600\">{}</text>\n\
         <text x=\"{MARGIN}\" y=\"57\" fill=\"#5f6368\">{}, {}, {}</text>\n",
        // A long title is written smaller, so that it stays in the picture.
        (1_480.0 / title.chars().count().max(1) as f64).clamp(9.0, 22.0),
        escape(title),
        counted(topology.hosts().into(), "host"),
        counted(topology.routers().into(), "router"),
        counted(topology.links().into(), "directed link"),
    );
    lines(&mut svg, layout, &frame, &names, &order);
    nodes(&mut svg, topology, layout, &frame);
    let mut y = legend_top;
    row(
        &mut svg,
        y,
        "<rect x=\"38\" y=\"-10\" width=\"10\" height=\"10\" rx=\"2\" fill=\"#202124\"/>",
        "router",
    );
    row(&mut svg, y, "<circle cx=\"143\" cy=\"-5\" r=\"4\" fill=\"#ffffff\" stroke=\"#202124\"/>", "");
    let _ = writeln!(svg, "<text x=\"156\" y=\"{y:.0}\">host</text>");
    for (class, text) in legend.iter().take(LEGEND_MOST) {
        y += 22.0;
        let mark =
            format!("<path d=\"M30 -5H58\" stroke=\"{}\" stroke-width=\"3\"/>", colour(*class, &order));
        row(&mut svg, y, &mark, text);
    }
    if legend.len() > LEGEND_MOST {
        y += 22.0;
        row(&mut svg, y, "", &format!("and {} more kinds of links", legend.len() - LEGEND_MOST));
    }
    for sentence in &layout.left_out {
        y += 22.0;
        let _ = writeln!(
            svg,
            "<text x=\"30\" y=\"{y:.0}\" fill=\"#5f6368\" font-style=\"italic\">{}</text>",
            escape(sentence)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, y: f64, mark: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<g transform=\"translate(0 {y:.0})\">{mark}<text x=\"68\">{}</text></g>",
        escape(text)
    );
}

/// One text for each kind of line, with the class that it is drawn as.
fn legend(topology: &dyn Topology, names: &[String]) -> Vec<(usize, String)> {
    let mut kinds: BTreeMap<usize, Vec<ClassSurvey>> = BTreeMap::new();
    for class in classes(topology) {
        let number = names.iter().position(|name| *name == class.name).expect("classes have different names");
        kinds.entry(drawn_class(names, number)).or_default().push(class);
    }
    let text = |(number, classes): (usize, Vec<ClassSurvey>)| {
        let links: u64 = classes.iter().map(|class| class.links).sum();
        let range =
            |least: String, most: String| if least == most { least } else { format!("{least} to {most}") };
        let bandwidth = range(
            classes
                .iter()
                .map(|class| class.bandwidth_min)
                .min()
                .map_or(String::new(), |rate| rate.to_string()),
            classes
                .iter()
                .map(|class| class.bandwidth_max)
                .max()
                .map_or(String::new(), |rate| rate.to_string()),
        );
        let latency = range(
            classes
                .iter()
                .map(|class| class.latency_min)
                .min()
                .map_or(String::new(), |time| time.to_string()),
            classes
                .iter()
                .map(|class| class.latency_max)
                .max()
                .map_or(String::new(), |time| time.to_string()),
        );
        let (name, rates) = (pair_name(names, number), format!("{bandwidth}, {latency}"));
        // Kinds of links without a name of their own are called by their rates.
        let name = if name == rates { String::new() } else { format!("{name}: ") };
        (number, format!("{name}{rates} ({})", counted(links, "directed link")))
    };
    kinds.into_iter().map(text).collect()
}

fn lines(svg: &mut String, layout: &Layout, frame: &Frame, names: &[String], order: &[usize]) {
    // The more lines, the finer.
    let (width, opacity) = match layout.lines.len() {
        0..=400 => (1.6, 0.85),
        401..=2000 => (1.0, 0.6),
        2001..=4000 => (0.7, 0.4),
        _ => (0.5, 0.3),
    };
    let mut kinds: BTreeMap<(usize, u32), Vec<&Line>> = BTreeMap::new();
    for line in &layout.lines {
        kinds.entry((drawn_class(names, line.class.into()), line.lanes)).or_default().push(line);
    }
    // The hosts' lines lie under the others, which come in the order of their classes.
    for ((class, lanes), lines) in kinds {
        let stroke = width * (1.0 + 0.6 * f64::from(lanes.min(8) - 1));
        let _ = write!(
            svg,
            "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{stroke:.1}\" stroke-opacity=\"{opacity}\" d=\"",
            colour(class, order)
        );
        for line in lines {
            let ([x0, y0], [x1, y1]) = (frame.place(line.from), frame.place(line.to));
            let _ = match line.control.map(|control| frame.place(control)) {
                None => write!(svg, "M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}"),
                Some([x, y]) => write!(svg, "M{x0:.1} {y0:.1}Q{x:.1} {y:.1} {x1:.1} {y1:.1}"),
            };
        }
        svg.push_str("\"/>\n");
    }
}

fn nodes(svg: &mut String, topology: &dyn Topology, layout: &Layout, frame: &Frame) {
    let size = (layout.spacing * frame.scale * 0.3).clamp(1.6, 16.0);
    for (host, at) in &layout.hosts {
        let ([x, y], radius) = (frame.place(*at), (size * 0.32).max(1.2));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"#ffffff\" stroke=\"#202124\" \
             stroke-width=\"0.8\"><title>{}</title></circle>",
            escape(&topology.host_name(*host))
        );
    }
    for (router, at) in &layout.routers {
        let ([x, y], half) = (frame.place(*at), size / 2.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{size:.1}\" height=\"{size:.1}\" rx=\"{:.1}\" fill=\"#202124\">\
             <title>{}</title></rect>",
            x - half,
            y - half,
            size * 0.2,
            escape(&topology.router_name(*router))
        );
    }
}

/// "1 host", "6,528 hosts".
fn counted(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A text as XML takes it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
