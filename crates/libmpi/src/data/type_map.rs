//! The type map of a datatype: which predefined values it holds, where, in the order of messages.
//!
//! A map is a tree: a predefined value, or a list of parts, each so many times another map at equal distances. A
//! vector of a million values is one part. Where all values are of one predefined datatype and the plan for copying
//! lists all runs, the plan says everything, and no parts are kept.

use std::rc::Rc;

use super::basic::Basic;
use super::copying::{Mover, Plan, walk_blocks};

/// Values and their places.
#[derive(Debug)]
pub struct Map {
    /// Bytes of data.
    pub size: usize,
    /// Predefined values; a pair is two.
    pub elements: usize,
    /// The first byte of data, from the address of the value.
    pub low: isize,
    /// The end of its last byte of data.
    pub high: isize,
    /// The strictest alignment of its values in structures of C \[bytes\]; 1 without any.
    pub alignment: usize,
    /// Datatype of all its values, if they are of one predefined datatype.
    pub uniform: Option<Basic>,
    plan: Plan,
    parts: Box<[Part]>,
}

/// Some values of a map.
#[derive(Debug, Clone)]
pub struct Part {
    /// Place of the first.
    pub at: isize,
    /// Number of them.
    pub count: usize,
    /// From one to the next \[bytes\].
    pub stride: isize,
    /// Kind of each.
    pub of: Rc<Map>,
}

impl Map {
    /// That of a predefined datatype.
    pub fn basic(basic: Basic) -> Rc<Map> {
        let size = basic.size();
        let (plan, high) = match basic.parts() {
            None => (Plan::dense(size), size),
            Some(parts) => {
                let place = basic.alignment() as isize;
                let plans = parts.map(|part| Plan::dense(part.size()));
                let plan = Plan::listed([(0, 1, 0, &plans[0]), (place, 1, 0, &plans[1])].into_iter());
                (plan, place as usize + parts[1].size())
            }
        };
        Rc::new(Map {
            size,
            elements: if basic.parts().is_some() { 2 } else { 1 },
            low: 0,
            high: high as isize,
            alignment: basic.alignment(),
            uniform: Some(basic),
            plan,
            parts: Box::default(),
        })
    }

    /// Map of these parts, in their order.
    pub fn list(parts: Vec<Part>) -> Rc<Map> {
        let mut parts = parts;
        parts.retain(|part| part.count > 0 && part.of.size > 0);
        if let [Part { at: 0, count: 1, of, .. }] = &parts[..] {
            return of.clone();
        }
        let mut map = Map {
            size: 0,
            elements: 0,
            low: isize::MAX,
            high: isize::MIN,
            alignment: 1,
            uniform: parts.first().and_then(|part| part.of.uniform),
            plan: match &parts[..] {
                [one] => one.of.plan.repeated(one.at, one.count, one.stride),
                _ => Plan::listed(parts.iter().map(|part| (part.at, part.count, part.stride, &part.of.plan))),
            },
            parts: Box::default(),
        };
        for Part { at, count, stride, of } in &parts {
            let last = at + (*count as isize - 1) * stride;
            map.size += count * of.size;
            map.elements += count * of.elements;
            map.low = map.low.min(at.min(&last) + of.low);
            map.high = map.high.max(at.max(&last) + of.high);
            map.alignment = map.alignment.max(of.alignment);
            map.uniform = map.uniform.filter(|basic| of.uniform == Some(*basic));
        }
        if parts.is_empty() {
            (map.low, map.high) = (0, 0);
        }
        if !map.plan_says_all() {
            map.parts = parts.into();
        }
        Rc::new(map)
    }

    /// True if runs of one kind of number, all listed, are the whole map.
    fn plan_says_all(&self) -> bool {
        self.plan != Plan::Nested && self.uniform.is_some_and(|basic| basic.parts().is_none())
    }

    /// Plan by which it is copied.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Tells `mover` of every run of a value at `base`.
    pub fn walk<M: Mover>(&self, base: isize, mover: &mut M) {
        match &self.plan {
            Plan::Strided(runs) => runs.walk(base, mover),
            Plan::Blocks(blocks, equal) => walk_blocks(blocks, *equal, base, mover),
            Plan::Nested => {
                for part in &self.parts {
                    part.of.walk_many(base + part.at, part.count, part.stride, mover);
                }
            }
        }
    }

    /// Tells `mover` of every run of `count` values, the first at `base`.
    #[inline]
    pub fn walk_many<M: Mover>(&self, base: isize, count: usize, stride: isize, mover: &mut M) {
        if let Plan::Strided(runs) = &self.plan {
            if let Some(all) = runs.repeated(base, count, stride) {
                return all.walk(0, mover);
            }
        }
        for index in 0..count as isize {
            self.walk(base + index * stride, mover);
        }
    }

    /// Tells `each` of the predefined values at `base`, in their order: so many of one kind, one after the other.
    pub fn values(&self, base: isize, each: &mut impl FnMut(Basic, isize, usize)) {
        match (self.uniform, &self.parts[..]) {
            (Some(basic), []) => match basic.parts() {
                Some([number, place]) => {
                    each(number, base, 1);
                    each(place, base + basic.alignment() as isize, 1);
                }
                None => self.walk(base, &mut Values(basic, each)),
            },
            (_, parts) => {
                for part in parts {
                    for index in 0..part.count as isize {
                        part.of.values(base + part.at + index * part.stride, each);
                    }
                }
            }
        }
    }

    /// Number of predefined values in the first `bytes` bytes; `None` if they end within one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        if bytes == 0 || bytes == self.size {
            return Some(if bytes == 0 { 0 } else { self.elements });
        }
        match (self.uniform, &self.parts[..]) {
            (Some(basic), []) => match basic.parts() {
                Some([number, _]) => (bytes == number.size()).then_some(1),
                None => (bytes % basic.size() == 0).then(|| bytes / basic.size()),
            },
            (_, parts) => {
                let (mut bytes, mut elements) = (bytes, 0);
                for Part { count, of, .. } in parts {
                    if bytes < count * of.size {
                        let whole = bytes / of.size;
                        return Some(elements + whole * of.elements + of.elements_in(bytes % of.size)?);
                    }
                    bytes -= count * of.size;
                    elements += count * of.elements;
                }
                Some(elements)
            }
        }
    }

    /// Bytes of the first `elements` predefined values.
    pub fn bytes_of(&self, elements: usize) -> usize {
        if elements == 0 || elements >= self.elements {
            return if elements == 0 { 0 } else { self.size };
        }
        match (self.uniform, &self.parts[..]) {
            (Some(basic), []) => match basic.parts() {
                Some([number, _]) => number.size(),
                None => elements * basic.size(),
            },
            (_, parts) => {
                let (mut elements, mut bytes) = (elements, 0);
                for Part { count, of, .. } in parts {
                    if elements < count * of.elements {
                        let whole = elements / of.elements;
                        return bytes + whole * of.size + of.bytes_of(elements % of.elements);
                    }
                    elements -= count * of.elements;
                    bytes += count * of.size;
                }
                bytes
            }
        }
    }
}

/// Runs of numbers as numbers.
struct Values<'a, F>(Basic, &'a mut F);

impl<F: FnMut(Basic, isize, usize)> Mover for Values<'_, F> {
    fn run(&mut self, at: isize, bytes: usize) {
        (self.1)(self.0, at, bytes / self.0.size());
    }
}
