//! Data representations: those of the library, and those of the program (MPI 5.0, 14.5).
//!
//! A function of the program converts all values of an access at once, between its buffer and the bytes of the file.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use super::timing::Direction;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Datatype, File};
use crate::abi::pointers::InText;
use crate::data::basic::Basic;
use crate::data::datatype::Layout;
use crate::data::external;
use crate::live::process::Process;
use crate::objects::file::{Conversion, Extent, Long, Short};
pub use crate::objects::file::{Registered, Representation};
use crate::translation::callbacks;

/// MPI_MAX_DATAREP_STRING
pub const LONGEST: usize = 128;

/// Result of a function of the program.
fn heard(code: c_int, own: &Registered, what: &str) -> Answer {
    if code == Class::SUCCESS.0 {
        return Ok(());
    }
    let reason = format!("the {what} function of the representation '{}' returned {code}", own.name);
    Err(Error::new(Class::CONVERSION, reason))
}

impl Representation {
    /// By its name.
    pub fn named(me: &Process, name: &[u8]) -> Option<Representation> {
        match name.to_ascii_lowercase().as_slice() {
            b"native" => Some(Representation::Native),
            b"internal" => Some(Representation::Internal),
            b"external32" => Some(Representation::External32),
            _ => {
                let known = me.objects.representations.borrow();
                known.iter().find(|own| own.name.as_bytes() == name).cloned().map(Representation::Own)
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::Own(own) => &own.name,
        }
    }

    /// Length of a value's data in files \[bytes\].
    pub fn size(&self, layout: &Layout) -> Answer<usize> {
        match self {
            Representation::Native | Representation::Internal => Ok(layout.size),
            Representation::External32 => Ok(external::size(layout) as usize),
            Representation::Own(own) => own.size(layout),
        }
    }

    /// Bytes to write for `count` values of the program, `bytes` long.
    ///
    /// # Safety
    /// There are so many at `buffer`, of that datatype.
    pub unsafe fn outside(
        &self,
        (datatype, layout): (Datatype, &Layout),
        buffer: *const c_void,
        count: i64,
        bytes: usize,
    ) -> Answer<Box<[u8]>> {
        let mut data = vec![0; bytes];
        // SAFETY: the caller says so; there is room for so many bytes.
        unsafe {
            match self {
                Representation::External32 => {
                    external::pack(layout, buffer, count as usize, data.as_mut_ptr())?;
                }
                Representation::Own(own) if bytes > 0 && own.write.is_some() => {
                    let (buffer, data) = (buffer.cast_mut(), data.as_mut_ptr());
                    Process::call_back(|| own.convert(Direction::Write, buffer, datatype, count, data))?;
                }
                _ => return Ok(layout.pack(buffer, count)),
            }
        }
        Ok(data.into())
    }

    /// Puts what was read, `each` bytes for a value, into the program's buffer.
    ///
    /// # Safety
    /// There is room for the values, of that datatype.
    pub unsafe fn inside(
        &self,
        (datatype, layout): (Datatype, &Layout),
        mut data: Vec<u8>,
        each: usize,
        buffer: *mut c_void,
    ) -> Answer {
        // SAFETY: the caller says so.
        unsafe {
            match self {
                Representation::External32 if each > 0 => {
                    external::unpack(layout, data.as_ptr(), buffer, data.len() / each);
                }
                Representation::Own(own) if each > 0 && !data.is_empty() && own.read.is_some() => {
                    let count = (data.len() / each) as i64;
                    let data = data.as_mut_ptr();
                    Process::call_back(|| own.convert(Direction::Read, buffer, datatype, count, data))?;
                }
                _ => layout.unpack(&data, buffer),
            }
        }
        Ok(())
    }
}

impl Registered {
    fn size(&self, layout: &Layout) -> Answer<usize> {
        let mut known: Vec<(Basic, usize)> = Vec::new();
        let (mut size, mut failed) = (0, None);
        layout.map().values(0, &mut |basic, _, count| {
            let found = known.iter().find(|one| one.0 == basic).map(|one| one.1);
            let each = match found.map_or_else(|| self.extent_of(basic), Ok) {
                Ok(each) => each,
                Err(error) => {
                    failed = Some(error);
                    0
                }
            };
            if found.is_none() {
                known.push((basic, each));
            }
            size += each * count;
        });
        failed.map_or(Ok(size), Err)
    }

    fn extent_of(&self, basic: Basic) -> Answer<usize> {
        let mut extent = 0;
        // SAFETY: the program's function keeps to the standard.
        let ask =
            || unsafe { (self.extent)(callbacks::datatype(basic.handle()), &raw mut extent, self.state) };
        let code = Process::call_back(ask);
        heard(callbacks::heard_error(code), self, "extent")?;
        usize::try_from(extent).map_err(|_| {
            let (name, own) = (basic.name(), &self.name);
            Error::new(Class::CONVERSION, format!("the representation '{own}' gives {name} {extent} bytes"))
        })
    }

    unsafe fn convert(
        &self,
        direction: Direction,
        buffer: *mut c_void,
        datatype: Datatype,
        count: i64,
        data: *mut u8,
    ) -> Answer {
        let (what, conversion) = match direction {
            Direction::Read => ("read", self.read),
            Direction::Write => ("write", self.write),
        };
        let conversion = conversion.expect("asked for before");
        let (datatype, data) = (callbacks::datatype(datatype), data.cast());
        // SAFETY: the caller says so; the program's function keeps to the standard.
        let code = unsafe {
            match conversion {
                Conversion::Long(function) => function(buffer, datatype, count, data, 0, self.state),
                Conversion::Short(function) => {
                    let count = c_int::try_from(count).map_err(|_| {
                        let most = "which MPI_Register_datarep_c's functions convert";
                        Error::new(Class::COUNT, format!("{count} values in one access, {most}"))
                    })?;
                    function(buffer, datatype, count, data, 0, self.state)
                }
            }
        };
        heard(callbacks::heard_error(code), self, what)
    }
}

/// Representation of that name.
pub fn named(me: &Process, name: InText) -> Answer<Representation> {
    let name = text(name)?;
    Representation::named(me, name).ok_or_else(|| {
        let name = String::from_utf8_lossy(name);
        let reason = format!("native, internal, external32 or one that was registered, not {name}");
        Error::new(Class::UNSUPPORTED_DATAREP, reason)
    })
}

fn text(name: InText<'_>) -> Answer<&[u8]> {
    name.bytes().ok_or_else(|| Error::new(Class::ARG, "no data representation"))
}

/// MPI_Register_datarep
pub unsafe fn register(
    me: &Process,
    name: InText,
    read: *mut c_void,
    write: *mut c_void,
    extent: *mut c_void,
    state: *mut c_void,
) -> Answer {
    // SAFETY: as the contract of `call` says: they are such functions, or null.
    unsafe {
        let function =
            |function| std::mem::transmute::<*mut c_void, Option<Short>>(function).map(Conversion::Short);
        keep(me, name, [function(read), function(write)], extent, state)
    }
}

/// MPI_Register_datarep_c
pub unsafe fn register_c(
    me: &Process,
    name: InText,
    read: *mut c_void,
    write: *mut c_void,
    extent: *mut c_void,
    state: *mut c_void,
) -> Answer {
    // SAFETY: as the contract of `call` says: they are such functions, or null.
    unsafe {
        let function =
            |function| std::mem::transmute::<*mut c_void, Option<Long>>(function).map(Conversion::Long);
        keep(me, name, [function(read), function(write)], extent, state)
    }
}

unsafe fn keep(
    me: &Process,
    name: InText,
    [read, write]: [Option<Conversion>; 2],
    extent: *mut c_void,
    state: *mut c_void,
) -> Answer {
    let wrong = |class, reason: String| Error::new(class, reason).of(File::NULL);
    // SAFETY: the caller says so.
    let (name, extent) = unsafe {
        let extent = std::mem::transmute::<*mut c_void, Option<Extent>>(extent);
        (text(name).map_err(|error| error.of(File::NULL))?, extent)
    };
    let shown = String::from_utf8_lossy(name).into_owned();
    if name.is_empty() || name.len() >= LONGEST {
        let reason = format!("a name of 1 to {} characters, not {}", LONGEST - 1, name.len());
        return Err(wrong(Class::ARG, reason));
    }
    let extent = extent.ok_or_else(|| wrong(Class::ARG, format!("no extent function for '{shown}'")))?;
    if Representation::named(me, name).is_some() {
        return Err(wrong(Class::DUP_DATAREP, format!("'{shown}' exists")));
    }
    let own = Registered { name: shown, read, write, extent, state };
    me.objects.representations.borrow_mut().push(Rc::new(own));
    Ok(())
}
