//! Time as a rank's C library tells it: simulated.
//!
//! All clocks count the same simulated time, in which computing takes what `--compute` says: calendar clocks
//! from 2026-01-01 00:00 UTC, monotonic ones from some time after the start of a machine, CPU clocks from
//! zero (MPI libraries wait by asking again and again, so waiting counts as CPU time). Sleeping takes simulated
//! time.

use std::ffi::{c_int, c_long, c_uint, c_void};

use engine::{Duration, Time};

use super::rank::{Rank, running};
use crate::loader::Hook;

/// Beginning of a run, by the calendar \[s since 1970\].
const EPOCH_S: i64 = 1_767_225_600;
/// Time for which the machine has been up by then \[s\].
const UP_S: i64 = 100_000;
const NS: u64 = 1_000_000_000;
const PS_PER_NS: u64 = 1000;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::of_time("clock_gettime", clock_gettime as *const c_void),
        Hook::of_time("gettimeofday", gettimeofday as *const c_void),
        Hook::of_time("time", calendar as *const c_void),
        Hook::of_time("clock", clock as *const c_void),
        Hook::of_time("times", times as *const c_void),
        Hook::of_time("getrusage", getrusage as *const c_void),
        Hook::of_time("timespec_get", timespec_get as *const c_void),
        Hook::of_time("sleep", sleep as *const c_void),
        Hook::of_time("usleep", usleep as *const c_void),
        Hook::of_time("nanosleep", nanosleep as *const c_void),
        Hook::of_time("clock_nanosleep", clock_nanosleep as *const c_void),
        Hook::of_time("select", select as *const c_void),
        Hook::of_time("poll", poll as *const c_void),
        Hook::of_time("_ZNSt6chrono3_V212system_clock3nowEv", system_clock as *const c_void),
        Hook::of_time("_ZNSt6chrono3_V212steady_clock3nowEv", steady_clock as *const c_void),
    ]
}

/// Simulated time \[ns\], if a rank asks.
fn now_ns() -> Option<u64> {
    running().map(|me| me.look_at_clock().0 / PS_PER_NS)
}

fn timespec(begin_s: i64, ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: begin_s + (ns / NS) as i64, tv_nsec: (ns % NS) as c_long }
}

/// Origin of a clock \[s\]; `None` if it is no clock that ranks share.
fn begin_of(clock: c_int) -> Option<i64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(EPOCH_S),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => Some(UP_S),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(0),
        _ => None,
    }
}

unsafe extern "C" fn clock_gettime(clock: c_int, place: *mut libc::timespec) -> c_int {
    match (begin_of(clock), now_ns()) {
        (Some(begin_s), Some(ns)) => {
            // SAFETY: in this and the functions below, the program's place for the answer.
            unsafe { *place = timespec(begin_s, ns) };
            0
        }
        // SAFETY: the program's own call.
        _ => unsafe { libc::clock_gettime(clock, place) },
    }
}

unsafe extern "C" fn gettimeofday(place: *mut libc::timeval, zone: *mut libc::timezone) -> c_int {
    let Some(ns) = now_ns() else {
        // SAFETY: the program's own call.
        return unsafe { libc::gettimeofday(place, zone.cast()) };
    };
    if !place.is_null() {
        let tv_usec = (ns % NS / 1000) as libc::suseconds_t;
        // SAFETY: see `clock_gettime`.
        unsafe { *place = libc::timeval { tv_sec: EPOCH_S + (ns / NS) as i64, tv_usec } };
    }
    0
}

unsafe extern "C" fn calendar(place: *mut i64) -> i64 {
    let Some(ns) = now_ns() else {
        // SAFETY: the program's own call.
        return unsafe { libc::time(place) };
    };
    let now_s = EPOCH_S + (ns / NS) as i64;
    if !place.is_null() {
        // SAFETY: see `clock_gettime`.
        unsafe { *place = now_s };
    }
    now_s
}

/// In millionths of a second, as POSIX has it.
extern "C" fn clock() -> c_long {
    // Outside of all ranks nothing has been computed.
    (now_ns().unwrap_or(0) / 1000) as c_long
}

/// In hundredths of a second (sysconf(_SC_CLK_TCK)).
unsafe extern "C" fn times(place: *mut libc::tms) -> c_long {
    let Some(ns) = now_ns() else {
        // SAFETY: the program's own call.
        return unsafe { libc::times(place) };
    };
    let ticks = (ns / 10_000_000) as c_long;
    if !place.is_null() {
        // SAFETY: see `clock_gettime`.
        unsafe { *place = libc::tms { tms_utime: ticks, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 } };
    }
    UP_S * 100 + ticks
}

/// All but the time is of the process that holds all ranks.
unsafe extern "C" fn getrusage(who: c_int, place: *mut libc::rusage) -> c_int {
    // SAFETY: see `clock_gettime`.
    unsafe {
        let failed = libc::getrusage(who, place);
        if let (0, Some(ns)) = (failed, now_ns()) {
            let tv_usec = (ns % NS / 1000) as libc::suseconds_t;
            (*place).ru_utime = libc::timeval { tv_sec: (ns / NS) as i64, tv_usec };
            (*place).ru_stime = libc::timeval { tv_sec: 0, tv_usec: 0 };
        }
        failed
    }
}

unsafe extern "C" fn timespec_get(place: *mut libc::timespec, base: c_int) -> c_int {
    // SAFETY: see `clock_gettime`; TIME_UTC, the only base, is 1.
    if base == 1 && unsafe { clock_gettime(libc::CLOCK_REALTIME, place) } == 0 { base } else { 0 }
}

extern "C" fn system_clock() -> i64 {
    nanoseconds(libc::CLOCK_REALTIME)
}

extern "C" fn steady_clock() -> i64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

fn nanoseconds(clock: c_int) -> i64 {
    let mut now = timespec(0, 0);
    // SAFETY: see `clock_gettime`.
    unsafe { clock_gettime(clock, &raw mut now) };
    now.tv_sec * NS as i64 + now.tv_nsec
}

/// Lets simulated time pass; gives whether a rank asks.
fn pass(ns: u64) -> bool {
    let Some(me) = running() else { return false };
    wait_until(me, me.end_of_computing() + Duration(ns.saturating_mul(PS_PER_NS)));
    true
}

fn wait_until(me: &dyn Rank, until: Time) {
    me.sleep_until(until);
}

extern "C" fn sleep(seconds: c_uint) -> c_uint {
    if !pass(u64::from(seconds) * NS) {
        // SAFETY: the program's own call.
        return unsafe { libc::sleep(seconds) };
    }
    0
}

extern "C" fn usleep(microseconds: c_uint) -> c_int {
    if !pass(u64::from(microseconds) * 1000) {
        // SAFETY: the program's own call.
        return unsafe { libc::usleep(microseconds) };
    }
    0
}

fn is_duration(time: &libc::timespec) -> bool {
    time.tv_sec >= 0 && (0..NS as c_long).contains(&time.tv_nsec)
}

unsafe extern "C" fn nanosleep(time: *const libc::timespec, rest: *mut libc::timespec) -> c_int {
    // SAFETY: the program's time.
    let asked = unsafe { &*time };
    if is_duration(asked) && pass(asked.tv_sec as u64 * NS + asked.tv_nsec as u64) {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::nanosleep(time, rest) }
}

unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const libc::timespec,
    rest: *mut libc::timespec,
) -> c_int {
    // SAFETY: the program's time.
    let asked = unsafe { &*time };
    let (Some(begin_s), Some(me), true) = (begin_of(clock), running(), is_duration(asked)) else {
        // SAFETY: the program's own call.
        return unsafe { libc::clock_nanosleep(clock, flags, time, rest) };
    };
    if flags & libc::TIMER_ABSTIME == 0 {
        pass(asked.tv_sec as u64 * NS + asked.tv_nsec as u64);
        return 0;
    }
    let until_ns = (asked.tv_sec - begin_s).max(0) as u64 * NS + asked.tv_nsec as u64;
    wait_until(me, Time(until_ns.saturating_mul(PS_PER_NS)));
    0
}

/// Without descriptors it is a way to sleep.
unsafe extern "C" fn select(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    time: *mut libc::timeval,
) -> c_int {
    let sleeps = read.is_null() && write.is_null() && except.is_null() && !time.is_null();
    if sleeps {
        // SAFETY: the program's time.
        let asked = unsafe { &*time };
        if pass(asked.tv_sec.max(0) as u64 * NS + asked.tv_usec.max(0) as u64 * 1000) {
            return 0;
        }
    }
    // SAFETY: the program's own call.
    unsafe { libc::select(count, read, write, except, time) }
}

/// Without descriptors it is a way to sleep.
unsafe extern "C" fn poll(list: *mut libc::pollfd, count: libc::nfds_t, milliseconds: c_int) -> c_int {
    if count == 0 && milliseconds >= 0 && pass(milliseconds as u64 * 1_000_000) {
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::poll(list, count, milliseconds) }
}
