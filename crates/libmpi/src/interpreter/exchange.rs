//! Exchange of what ranks have of their own in the interpreter, when another runs.

use std::ptr;

use super::Interpreter;
use super::python::{Object, Python, State};

/// Variables of `sys` that each rank has of its own.
const VARIABLES: [&std::ffi::CStr; 6] = [c"argv", c"path", c"stdin", c"stdout", c"stderr", c"excepthook"];

/// Objects of the module `sys`.
pub struct System {
    names: Object,
    modules: Object,
    variables: [Object; VARIABLES.len()],
}

impl System {
    /// # Safety
    /// The interpreter is held.
    pub unsafe fn find(python: &Python) -> System {
        // SAFETY: the caller says so; `sys` lives as long as the interpreter.
        unsafe {
            let names = (python.names_of)((python.import)(c"sys".as_ptr()));
            let modules = (python.get)(names, python.name(c"modules"));
            (python.increase)(modules);
            System { names, modules, variables: VARIABLES.map(|name| python.name(name)) }
        }
    }
}

/// Objects that a rank has of its own, while another runs.
pub struct Own {
    /// Its thread state.
    pub state: State,
    /// Its modules, by name.
    pub modules: Object,
    /// The values of [`VARIABLES`].
    variables: [Object; VARIABLES.len()],
    /// Values of [`Words`].
    words: Vec<usize>,
    /// Number of modules when it began to run.
    count: isize,
}

impl Default for Own {
    fn default() -> Own {
        Own {
            state: ptr::null_mut(),
            modules: ptr::null_mut(),
            variables: [ptr::null_mut(); VARIABLES.len()],
            words: Vec::new(),
            count: 0,
        }
    }
}

/// Places of an extension module that hold a rank's own: pointers to objects, and integers.
pub struct Words {
    objects: Vec<*mut usize>,
    integers: Vec<(*mut i32, i32)>,
    /// `fresh() -> list`: the objects of a rank that begins.
    fresh: Object,
}

impl Default for Words {
    fn default() -> Words {
        Words { objects: Vec::new(), integers: Vec::new(), fresh: ptr::null_mut() }
    }
}

impl Words {
    /// # Safety
    /// The places hold what the kind says for as long as the process lives.
    pub unsafe fn new(objects: Vec<*mut usize>, integers: Vec<*mut i32>, fresh: Object) -> Words {
        // SAFETY: the caller says so.
        let integers = integers.into_iter().map(|place| (place, unsafe { *place })).collect();
        Words { objects, integers, fresh }
    }

    unsafe fn take(&self) -> Vec<usize> {
        // SAFETY: as `new` says.
        let integers = self.integers.iter().map(|(place, _)| unsafe { **place } as usize);
        // SAFETY: as above.
        self.objects.iter().map(|place| unsafe { **place }).chain(integers).collect()
    }

    unsafe fn put(&self, values: &[usize]) {
        let (objects, integers) = values.split_at(self.objects.len());
        for (place, value) in self.objects.iter().zip(objects) {
            // SAFETY: as `new` says.
            unsafe { **place = *value };
        }
        for ((place, _), value) in self.integers.iter().zip(integers) {
            // SAFETY: as above.
            unsafe { **place = *value as i32 };
        }
    }

    /// Those of a rank that begins.
    unsafe fn begin(&self, python: &Python) -> Vec<usize> {
        // SAFETY: the interpreter is held; the list has as many objects as there are places, which keep them.
        unsafe {
            let list = (python.call)(self.fresh, ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            assert!(!list.is_null(), "objects for a rank's registries can be made");
            let objects = (0..self.objects.len()).map(|index| {
                let object = (python.item)(list, index as isize);
                (python.increase)(object);
                object as usize
            });
            let values = objects.chain(self.integers.iter().map(|(_, first)| *first as usize)).collect();
            (python.decrease)(list);
            values
        }
    }
}

impl Interpreter {
    /// Puts what is `rank`'s own in place, and keeps what was there for whom it belongs to.
    ///
    /// # Safety
    /// The interpreter is held.
    pub(super) unsafe fn place(&self, rank: u32) {
        let (python, system) = (&self.python, &self.system);
        let before = self.placed.replace(Some(rank));
        if before == Some(rank) {
            return;
        }
        // SAFETY: the caller says so; every object is held by a reference.
        unsafe {
            if let Some(before) = before {
                self.keep(before);
                let ranks = self.ranks.borrow();
                self.remove(ranks[before as usize].modules, ranks[rank as usize].modules);
            }
            let mut ranks = self.ranks.borrow_mut();
            let own = &mut ranks[rank as usize];
            if own.modules.is_null() {
                own.modules = (python.new_dict)();
            }
            for (name, value) in system.variables.iter().zip(own.variables) {
                if !value.is_null() {
                    (python.set)(system.names, *name, value);
                }
            }
            (python.update)(system.modules, own.modules);
            own.count = (python.size)(system.modules);
            let words = self.words.borrow();
            if own.words.is_empty() && !words.fresh.is_null() {
                drop(ranks);
                let values = words.begin(python);
                words.put(&values);
                self.ranks.borrow_mut()[rank as usize].words = values;
            } else {
                words.put(&own.words);
                drop(ranks);
            }
            self.place_regions(rank);
        }
    }

    /// Takes what is in place as `rank`'s own.
    unsafe fn keep(&self, rank: u32) {
        let (python, system) = (&self.python, &self.system);
        // SAFETY: as `place` says.
        unsafe {
            let (modules, count) = {
                let ranks = self.ranks.borrow();
                (ranks[rank as usize].modules, ranks[rank as usize].count)
            };
            if modules.is_null() {
                return;
            }
            if (python.size)(system.modules) != count {
                let answer = (python.call)(self.collect, modules, ptr::null_mut(), ptr::null_mut());
                assert!(!answer.is_null(), "modules can be told apart");
                (python.decrease)(answer);
            }
            let mut ranks = self.ranks.borrow_mut();
            let own = &mut ranks[rank as usize];
            for (name, value) in system.variables.iter().zip(&mut own.variables) {
                let now = (python.get)(system.names, *name);
                if now != *value && !now.is_null() {
                    (python.increase)(now);
                    (python.decrease)(std::mem::replace(value, now));
                }
            }
            own.words = self.words.borrow().take();
        }
        self.keep_regions(rank);
    }

    /// Takes the modules of a rank out of `sys.modules`, but for the names that the next rank has too.
    unsafe fn remove(&self, modules: Object, next: Object) {
        let (mut at, mut name, mut module) = (0, ptr::null_mut(), ptr::null_mut());
        // SAFETY: as `place` says; the dictionary that is gone through is not the one that is changed.
        unsafe {
            if modules.is_null() {
                return;
            }
            while (self.python.next)(modules, &raw mut at, &raw mut name, &raw mut module) != 0 {
                let stays = !next.is_null() && !(self.python.get)(next, name).is_null();
                if !stays && !(self.python.get)(self.system.modules, name).is_null() {
                    (self.python.remove)(self.system.modules, name);
                }
            }
        }
    }

    /// A rank has ended: what it had is freed, but for its words, which its module may still use.
    ///
    /// # Safety
    /// As for `place`; the rank's things are in place.
    pub(super) unsafe fn forget(&self, rank: u32) {
        // SAFETY: as above.
        unsafe {
            self.keep(rank);
            self.placed.set(None);
            self.forget_regions(rank);
            self.remove(self.ranks.borrow()[rank as usize].modules, std::ptr::null_mut());
            let own = {
                let mut ranks = self.ranks.borrow_mut();
                std::mem::take(&mut ranks[rank as usize])
            };
            (self.python.decrease)(own.modules);
            for value in own.variables {
                if !value.is_null() {
                    (self.python.decrease)(value);
                }
            }
        }
    }
}
