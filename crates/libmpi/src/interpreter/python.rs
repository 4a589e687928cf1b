//! The functions of the Python interpreter that this process runs in, found by name: the library does not need
//! Python, and serves any version of it.
//!
//! All of them are of the stable interface, or have been exported by every version since 3.10.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// `PyObject *`
pub type Object = *mut c_void;
/// `PyThreadState *`
pub type State = *mut c_void;

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of it that are called.
        #[derive(Debug, Clone, Copy)]
        pub struct Python {
            $(#[doc = $symbol] pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Python {
            /// Finds that of this process; gives the name of what is missing if it is no Python.
            pub fn find() -> Result<Python, &'static str> {
                // SAFETY: functions of these names have these types in every Python.
                unsafe {
                    Ok(Python {
                        $($name: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            symbol($symbol)?,
                        ),)*
                    })
                }
            }
        }
    };
}

functions! {
    interpreter = "PyInterpreterState_Get": fn() -> *mut c_void;
    new_state = "PyThreadState_New": fn(*mut c_void) -> State;
    clear_state = "PyThreadState_Clear": fn(State);
    delete_current = "PyThreadState_DeleteCurrent": fn();
    current = "_PyThreadState_UncheckedGet": fn() -> State;
    save = "PyEval_SaveThread": fn() -> State;
    restore = "PyEval_RestoreThread": fn(State);
    increase = "Py_IncRef": fn(Object);
    decrease = "Py_DecRef": fn(Object);
    number = "PyLong_FromLong": fn(libc::c_long) -> Object;
    value = "PyLong_AsLong": fn(Object) -> libc::c_long;
    call = "PyObject_CallFunctionObjArgs": fn(Object, Object, Object, Object) -> Object;
    print_error = "PyErr_Print": fn();
    utf8 = "PyUnicode_AsUTF8AndSize": fn(Object, *mut isize) -> *const c_char;
    text = "PyUnicode_InternFromString": fn(*const c_char) -> Object;
    import = "PyImport_ImportModule": fn(*const c_char) -> Object;
    names_of = "PyModule_GetDict": fn(Object) -> Object;
    new_dict = "PyDict_New": fn() -> Object;
    get = "PyDict_GetItem": fn(Object, Object) -> Object;
    set = "PyDict_SetItem": fn(Object, Object, Object) -> c_int;
    remove = "PyDict_DelItem": fn(Object, Object) -> c_int;
    size = "PyDict_Size": fn(Object) -> isize;
    next = "PyDict_Next": fn(Object, *mut isize, *mut Object, *mut Object) -> c_int;
    update = "PyDict_Update": fn(Object, Object) -> c_int;
    bytes = "PyBytes_AsString": fn(Object) -> *mut c_char;
    length = "PyBytes_Size": fn(Object) -> isize;
    item = "PyList_GetItem": fn(Object, isize) -> Object;
}

fn symbol(name: &'static str) -> Result<*mut c_void, &'static str> {
    let text = CString::new(name).expect("no zero in a name");
    // SAFETY: looks a name up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, text.as_ptr()) };
    if found.is_null() { Err(name) } else { Ok(found) }
}

impl Python {
    /// An interned text.
    ///
    /// # Safety
    /// The interpreter is held.
    pub unsafe fn name(&self, text: &CStr) -> Object {
        // SAFETY: the caller says so.
        unsafe { (self.text)(text.as_ptr()) }
    }
}
