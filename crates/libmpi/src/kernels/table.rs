//! The functions that are intercepted: where they are, what they take, and what they return.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::OnceLock;

use engine::random::{Shape, Stream, pick, uniform};
use mpi::compute::Kernel;
use mpi::compute::formula::{Conditions, Formula};
use mpi::compute::kernel::{Argument, KernelMode, RANDOM, Style, Symbol, TRIANGLE, Type, cut, draw};

use super::Mode;
use super::answer::gives_value;
use super::recent::{Evaluated, Recent};
use super::trampoline::{Frame, JUMP_BYTES, jump, stubs};
use crate::loader;
use crate::loader::elf::{Elf, Refusal};
use crate::loader::interception::Interception as _;
use crate::process_view::rank::Rank;

/// A name that is intercepted.
pub struct Interception {
    pub(super) symbol: Symbol,
    pub(super) function: String,
    choices: Vec<Choice>,
    /// Place of the choice that holds for each rank; [`UNKNOWN`] until it has asked.
    chosen: RefCell<Vec<usize>>,
    /// Place in a library; 0 in none.
    library: Cell<usize>,
    /// Place in each rank's copy of a library, if it is in one that has copies.
    copied: Cell<Option<usize>>,
    /// Place in the program, and its first bytes there.
    program: OnceLock<(usize, [u8; JUMP_BYTES])>,
    stub: OnceLock<usize>,
    /// Seed of random streams.
    pub seed: u64,
    /// Number of calls in which it did not run.
    pub skipped: Cell<u64>,
    /// Its calls, and those for which its formula was not fitted.
    pub counted: Cell<Counted>,
    /// Arguments of which something else depends.
    roles: Roles,
}

/// Places of a routine's arguments.
#[derive(Debug, Default, Clone, Copy)]
struct Roles {
    /// True if the first argument says whether rows come first.
    has_layout: bool,
    side: Option<usize>,
    /// Places of M and N.
    extents: Option<(usize, usize)>,
    /// True if a routine that does not run gives something for others to go on with: a value, or that it has succeeded.
    answers: bool,
}

// SAFETY: there is one thread.
unsafe impl Sync for Interception {}

/// Calls of a kernel, and those of them beyond the range of its formula.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted {
    /// All calls.
    pub calls: u64,
    /// Their time \[s\].
    pub seconds: f64,
    /// Calls beyond the range.
    pub calls_beyond: u64,
    /// Their time \[s\].
    pub seconds_beyond: f64,
}

/// A kernel as it is called by one name.
pub struct Choice {
    hosts: Option<BTreeSet<u32>>,
    sockets: Option<BTreeSet<u16>>,
    modes: Vec<BoundMode>,
    range: Option<(Conditions, Vec<usize>)>,
    resolution: f64,
    /// True if it runs.
    pub runs: bool,
    /// Factor on its time.
    pub scale: f64,
    pub(super) returns: Option<Bound>,
    recent: Option<Recent>,
}

/// A mode of a kernel's times, for one name.
struct BoundMode {
    weight: f64,
    time: Bound,
    noise: Option<(Shape, Bound)>,
}

/// A formula and where its variables are among the arguments.
pub struct Bound {
    formula: Formula,
    places: Vec<usize>,
}

/// Place of a choice that has not been looked for, and that of none.
const UNKNOWN: usize = usize::MAX;
const NONE: usize = usize::MAX - 1;

/// The most arguments of a function, with what is beside them.
const MOST: usize = 24;

/// The arguments of a call as numbers, those beside them after them.
pub struct Arguments {
    pub(super) values: [f64; MOST],
    pub(super) words: [u64; MOST],
    random: usize,
}

/// Interceptions: one for every name by which a program may call one of these kernels. `scale` is for their times.
pub fn install(kernels: &[Kernel], mode: Mode, seed: u64, scale: f64) -> Vec<&'static Interception> {
    let mut made: Vec<Interception> = Vec::new();
    if mode == Mode::Off {
        return Vec::new();
    }
    for kernel in kernels {
        for symbol in &kernel.symbols {
            let choice = Choice::new(kernel, symbol, mode, scale);
            match made.iter_mut().find(|known| known.symbol.name == symbol.name) {
                Some(known) if known.symbol.arguments == symbol.arguments => known.choices.push(choice),
                known => {
                    let one = Interception::new(&kernel.function, symbol, choice, seed);
                    match known {
                        Some(known) => *known = one,
                        None => made.push(one),
                    }
                }
            }
        }
    }
    let made: Vec<&'static Interception> = made.into_iter().map(|one| &*Box::leak(Box::new(one))).collect();
    let addresses: Vec<_> = made.iter().map(|one| std::ptr::from_ref(*one) as usize).collect();
    for (one, stub) in made.iter().zip(stubs(&addresses)) {
        one.stub.set(stub).expect("set once");
    }
    made
}

impl Choice {
    fn new(kernel: &Kernel, symbol: &Symbol, mode: Mode, scale: f64) -> Choice {
        let bound = |formula: &Formula| Bound::new(formula, &symbol.arguments);
        let bound_mode = |mode: &KernelMode| BoundMode {
            weight: mode.weight,
            time: bound(&mode.time),
            noise: mode.noise.as_ref().map(|(shape, deviation)| (*shape, bound(deviation))),
        };
        let range = kernel.range.as_ref();
        Choice {
            hosts: kernel.hosts.clone(),
            sockets: kernel.sockets.clone(),
            modes: kernel.modes.iter().map(bound_mode).collect(),
            range: range.map(|range| (range.clone(), places(range.variables(), &symbol.arguments))),
            resolution: kernel.resolution,
            runs: match mode {
                Mode::Run => true,
                Mode::Skip => false,
                Mode::Platform | Mode::Off => kernel.runs,
            },
            scale,
            returns: kernel.returns.as_ref().map(bound),
            recent: None,
        }
        .remembering(symbol.arguments.len())
    }

    /// The same, which keeps its last calls, if that is worth it; its functions take so many arguments.
    fn remembering(mut self, arguments: usize) -> Choice {
        let formulas = |mode: &BoundMode| {
            let noise = mode.noise.iter().flat_map(|(_, deviation)| deviation.places.clone());
            mode.time.places.iter().copied().chain(noise).collect::<Vec<_>>()
        };
        let range = self.range.iter().flat_map(|(_, places)| places.iter().copied());
        let mut places: Vec<usize> = self.modes.iter().flat_map(formulas).chain(range).collect();
        places.sort_unstable();
        places.dedup();
        self.recent = match &self.modes[..] {
            [_] if !places.contains(&arguments) => Recent::of(places),
            _ => None,
        };
        self
    }

    fn holds(&self, host: u32, socket: u32) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
            && self.sockets.as_ref().is_none_or(|sockets| sockets.contains(&(socket as u16)))
    }

    /// Time of a call \[s\], drawn around its mean, and whether the formula was not fitted for such calls.
    pub fn time(&self, arguments: &Arguments, random: &mut Stream) -> (f64, bool) {
        let mode = &self.modes[pick(self.modes.iter().map(|mode| mode.weight), random)];
        let evaluate = |random: &mut Stream| {
            let mean = arguments.value(&mode.time, random);
            let noise = mode.noise.as_ref();
            let deviation = noise.map_or(0.0, |(_, deviation)| arguments.value(deviation, random));
            Evaluated { mean, deviation, is_beyond: self.is_beyond(arguments) }
        };
        let found = match &self.recent {
            Some(recent) => recent.or_evaluate(&arguments.values, || evaluate(random)),
            None => evaluate(random),
        };
        let noise = mode.noise.as_ref().map(|(shape, _)| (*shape, found.deviation));
        (cut(draw(found.mean, noise, random) * self.scale, self.resolution), found.is_beyond)
    }

    /// True if the formula was not fitted for such calls.
    fn is_beyond(&self, arguments: &Arguments) -> bool {
        self.range.as_ref().is_some_and(|(range, places)| {
            let mut values = [0.0; MOST];
            values.iter_mut().zip(places).for_each(|(value, place)| *value = arguments.values[*place]);
            !range.hold(&values[..places.len()])
        })
    }
}

impl Bound {
    fn new(formula: &Formula, arguments: &[Argument]) -> Bound {
        Bound { formula: formula.clone(), places: places(formula.variables(), arguments) }
    }
}

/// Places of these names among the arguments of a call; those of what is beside them lie behind.
fn places(names: &[String], arguments: &[Argument]) -> Vec<usize> {
    let count = arguments.len();
    let place = |name: &String| match arguments.iter().position(|argument| argument.name == *name) {
        Some(at) => at,
        None if name == RANDOM => count,
        None => {
            assert!(name == TRIANGLE, "the names of a formula were checked");
            count + 1
        }
    };
    names.iter().map(place).collect()
}

impl Roles {
    fn of(symbol: &Symbol, function: &str) -> Roles {
        let place = |name: &str| symbol.arguments.iter().position(|argument| argument.name == name);
        if symbol.style == Style::Own {
            return Roles::default();
        }
        Roles {
            has_layout: symbol.style == Style::C && symbol.arguments[0].name == "layout",
            side: place("side"),
            extents: place("M").zip(place("N")),
            answers: place("info").is_some() || gives_value(function),
        }
    }
}

impl Interception {
    fn new(function: &str, symbol: &Symbol, choice: Choice, seed: u64) -> Interception {
        Interception {
            symbol: symbol.clone(),
            function: function.to_string(),
            choices: vec![choice],
            chosen: RefCell::default(),
            library: Cell::new(0),
            copied: Cell::new(None),
            program: OnceLock::new(),
            stub: OnceLock::new(),
            seed,
            skipped: Cell::new(0),
            counted: Cell::default(),
            roles: Roles::of(symbol, function),
        }
    }

    /// True if it is a routine of BLAS or LAPACK that must answer where it does not run.
    pub fn answers(&self) -> bool {
        self.roles.answers
    }

    /// The name of the kernel.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The kernel that holds for a rank: the last that is for its socket of its host.
    #[inline]
    pub fn choice(&self, rank: &dyn Rank) -> Option<&Choice> {
        let known = self.chosen.borrow().get(rank.number() as usize).copied().unwrap_or(UNKNOWN);
        self.choices.get(if known == UNKNOWN { self.choose(rank) } else { known })
    }

    #[cold]
    fn choose(&self, rank: &dyn Rank) -> usize {
        let (host, socket) = (rank.host(), rank.socket());
        let place = self.choices.iter().rposition(|choice| choice.holds(host, socket)).unwrap_or(NONE);
        let (mut chosen, index) = (self.chosen.borrow_mut(), rank.number() as usize);
        let ranks = chosen.len().max(index + 1);
        chosen.resize(ranks, UNKNOWN);
        chosen[index] = place;
        place
    }

    /// Counts a call that takes `seconds`.
    pub fn count(&self, seconds: f64, beyond: bool) {
        let mut counted = self.counted.get();
        counted.calls += 1;
        counted.seconds += seconds;
        if beyond {
            counted.calls_beyond += 1;
            counted.seconds_beyond += seconds;
        }
        self.counted.set(counted);
    }

    /// True if the function is in the program itself.
    pub fn in_program(&self) -> bool {
        self.program.get().is_some()
    }

    /// Place of the function, in the copy at `base` if it is in the program or in a library that has copies.
    pub fn place(&self, base: Option<usize>) -> usize {
        let offset = self.program.get().map(|(offset, _)| *offset).or(self.copied.get());
        match (offset, base) {
            (Some(offset), Some(base)) => base + offset,
            _ => self.library.get(),
        }
    }

    /// In the copy at `base` the function can run: its own code is at its beginning.
    pub fn uncover(&self, base: usize) {
        if let Some((offset, code)) = self.program.get() {
            write(base + offset, code);
        }
    }

    /// In the copy at `base` it is intercepted again.
    pub fn cover(&self, base: usize) {
        if let Some((offset, _)) = self.program.get() {
            write(base + offset, &jump(self.stub()));
        }
    }
}

impl loader::interception::Interception for Interception {
    fn name(&self) -> &str {
        &self.symbol.name
    }

    fn replaces(&self, address: usize) {
        self.library.set(address);
    }

    fn replaces_in_copies(&self, offset: usize) {
        self.copied.set(Some(offset));
    }

    fn place_in(&self, elf: &Elf, image: &mut [u8]) -> Result<(), Refusal> {
        let Some((at, room)) = elf.function(&self.symbol.name) else { return Ok(()) };
        let Some(place) = image.get_mut(at..at + JUMP_BYTES).filter(|_| room >= JUMP_BYTES) else {
            return Err(format!("its function '{}' is too short to be a kernel", self.symbol.name));
        };
        let own = (&*place).try_into().expect("as long as a jump");
        if self.program.set((at, own)).is_ok() {
            place.copy_from_slice(&jump(self.stub()));
        }
        Ok(())
    }

    fn stub(&self) -> usize {
        *self.stub.get().expect("made with it")
    }
}

fn write(at: usize, code: &[u8; JUMP_BYTES]) {
    // SAFETY: the beginning of a function in a rank's copy of the program, which it may write, and which is longer.
    unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, JUMP_BYTES) };
}

impl Arguments {
    /// The arguments of a call: in registers, then at `stack`.
    ///
    /// # Safety
    /// The function is called with such arguments; addresses of numbers are those of numbers.
    #[inline(always)]
    pub unsafe fn read(of: &Interception, frame: &Frame, stack: *const usize) -> Arguments {
        let declared = &of.symbol.arguments;
        let mut read =
            Arguments { values: [0.0; MOST], words: [0; MOST], random: declared.len().min(MOST - 2) };
        let (mut whole, mut real, mut further) = (frame.whole.iter(), frame.real.iter(), stack);
        let mut next = || {
            // SAFETY: as the caller says.
            let word = unsafe { *further } as u64;
            further = further.wrapping_add(1);
            word
        };
        for (at, argument) in declared.iter().take(MOST - 2).enumerate() {
            let word = match argument.of {
                Type::Double | Type::Float => real.next().map(|half| half[0]).unwrap_or_else(&mut next),
                _ => whole.next().copied().unwrap_or_else(&mut next),
            };
            read.words[at] = word;
            // SAFETY: as the caller says.
            read.values[at] = unsafe { number(argument, word) };
        }
        read.settle(of.roles);
        read
    }

    /// Turns a call with rows first into that of the transposed matrices, and adds the order of the triangle.
    fn settle(&mut self, Roles { has_layout, side, extents, .. }: Roles) {
        if has_layout && self.values[0] == ROW_MAJOR {
            if let Some((rows, columns)) = extents {
                self.values.swap(rows, columns);
            }
            if let Some(side) = side {
                self.values[side] = LEFT + RIGHT - self.values[side];
            }
        }
        if let (Some(side), Some((rows, columns))) = (side, extents) {
            let order = if self.values[side] == LEFT { rows } else { columns };
            self.values[self.random + 1] = self.values[order];
        }
    }

    /// The value of a formula for this call.
    pub fn value(&self, bound: &Bound, random: &mut Stream) -> f64 {
        let mut values = [0.0; MOST];
        for (value, place) in values.iter_mut().zip(&bound.places) {
            *value = if *place == self.random { uniform(random) } else { self.values[*place] };
        }
        bound.formula.value(&values[..bound.places.len()])
    }
}

/// Codes of the C interface of BLAS.
const ROW_MAJOR: f64 = 101.0;
const LEFT: f64 = 141.0;
const RIGHT: f64 = 142.0;

/// An argument as a number; letters as the codes of the C interface.
///
/// # Safety
/// If it is an address, there is such a number.
unsafe fn number(argument: &Argument, word: u64) -> f64 {
    // SAFETY: the caller says so.
    unsafe {
        match argument.of {
            Type::Int32 => f64::from(word as i32),
            Type::Int64 => word as i64 as f64,
            Type::Double => f64::from_bits(word),
            Type::Float => f64::from(f32::from_bits(word as u32)),
            Type::CharAt => code(&argument.name, *(word as *const u8)),
            Type::Int32At => f64::from(*(word as *const i32)),
            Type::Int64At => *(word as *const i64) as f64,
            Type::DoubleAt => *(word as *const f64),
            Type::FloatAt => f64::from(*(word as *const f32)),
            Type::Pointer => 0.0,
        }
    }
}

fn code(name: &str, letter: u8) -> f64 {
    match (name, letter.to_ascii_uppercase()) {
        ("side", b'L') => LEFT,
        ("side", b'R') => RIGHT,
        ("uplo", b'U') => 121.0,
        ("uplo", b'L') => 122.0,
        ("diag", b'N') => 131.0,
        ("diag", b'U') => 132.0,
        (_, b'N') => 111.0,
        (_, b'T') => 112.0,
        (_, b'C') => 113.0,
        (_, other) => f64::from(other),
    }
}
