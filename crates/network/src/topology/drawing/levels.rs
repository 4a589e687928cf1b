//! Fat trees: hosts at the bottom, a row for each level of routers above.

use super::{Layout, truncate};
use crate::topology::fat_tree::{FatTree, Level};
use crate::topology::{HostId, RouterId};

/// Nodes in a row.
const ROW_MOST: u64 = 96;

pub(super) fn layout(tree: &FatTree) -> Layout {
    let levels = tree.levels();
    let children: Vec<u32> = levels.iter().map(|level| level.children.get()).collect();
    let parents: Vec<u32> = levels[..levels.len() - 1]
        .iter()
        .map(|level| level.above.map_or(1, |above| above.parents.get()))
        .collect();
    let (shown_children, shown_parents) = (truncate(&children, ROW_MOST), truncate(&parents, ROW_MOST));
    let hosts = numbers(&shown_children, &children);
    let mut layout = Layout { spacing: 1.2, ..Layout::default() };
    let width = (hosts.len() as f64).max(12.0);
    let height = width * 0.55 / levels.len() as f64;
    let spread = |index: usize, count: usize| (index as f64 + 0.5) / count as f64 * width;
    let mut rows = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let subtrees = numbers(&shown_children[number + 1..], &children[number + 1..]);
        let places = numbers(&shown_parents[..number], &parents[..number]);
        let count = subtrees.len() * places.len();
        rows.push(count);
        let y = -height * (number as f64 + 1.0);
        for (index, (subtree, place)) in
            subtrees.iter().flat_map(|subtree| places.iter().map(move |place| (subtree, place))).enumerate()
        {
            let router = RouterId(level.first + subtree * level.places.get() + place);
            layout.routers.push((router, [spread(index, count), y]));
        }
    }
    let edges = layout.edges(tree);
    layout.straight(&edges);
    let leaves = rows[0];
    for (index, host) in hosts.iter().enumerate() {
        // Hosts in the order of the leaves, which are the first row.
        let leaf = layout.routers[index * leaves / hosts.len()].1;
        layout.host(HostId(*host), leaf, [spread(index, hosts.len()), -height * 0.25]);
    }
    layout.spacing = (width / rows.iter().copied().max().unwrap_or(1) as f64).min(2.0);
    layout.left_out = left_out(levels, [&children, &parents], [&shown_children, &shown_parents]);
    layout
}

/// All numbers whose digits are below `shown`, in a system of digits below `sizes`, the first digit fastest.
fn numbers(shown: &[u32], sizes: &[u32]) -> Vec<u32> {
    let (mut all, mut unit) = (vec![0], 1);
    for (shown, size) in shown.iter().zip(sizes) {
        all = (0..*shown).flat_map(|digit| all.iter().map(move |number| number + digit * unit)).collect();
        unit *= size;
    }
    all
}

fn left_out(levels: &[Level], all: [&[u32]; 2], shown: [&[u32]; 2]) -> Vec<String> {
    let mut sentences = Vec::new();
    for number in 0..levels.len() {
        let below = if number == 0 { "hosts".to_string() } else { format!("level-{number} routers") };
        if shown[0][number] < all[0][number] {
            sentences.push(format!(
                "Of a level-{} router's {} {below}, {} are drawn.",
                number + 1,
                all[0][number],
                shown[0][number]
            ));
        }
        if number + 1 < levels.len() && shown[1][number] < all[1][number] {
            sentences.push(format!(
                "Of a level-{} router's {} parents, {} are drawn.",
                number + 1,
                all[1][number],
                shown[1][number]
            ));
        }
    }
    sentences
}
