//! A message's own way between hosts, as a program states it in a call of hopcast.h or in the info of a communicator.
//!
//! ```text
//! hopcast_source_nic, hopcast_destination_nic    numbers of NICs, both or neither
//! hopcast_copies                                 zero-copy, two-copy or platform
//! ```

use std::ffi::c_int;

use mpi::operation::{Copying, NicPair, Nics, Via};

use crate::abi::error::{Answer, Class, Error};
use crate::call::info::Pairs;

const SOURCE_NIC: &str = "hopcast_source_nic";
const DESTINATION_NIC: &str = "hopcast_destination_nic";
const COPIES: &str = "hopcast_copies";

/// Values of `copies` in hopcast.h, by their numbers, and of the key.
const CHOICES: [(&str, Option<Copying>); 3] =
    [("platform", None), ("zero-copy", Some(Copying::ZeroCopy)), ("two-copy", Some(Copying::TwoCopy))];

/// Number that leaves a NIC to the platform.
const ANY_NIC: i64 = -1;

/// The way that the arguments of a call state.
pub fn of_arguments(source_nic: c_int, destination_nic: c_int, copies: c_int) -> Answer<Via> {
    let wrong = |reason| Error::new(Class::ARG, reason);
    let nics = pair(source_nic.into(), destination_nic.into()).map_err(wrong)?;
    let choice = usize::try_from(copies).ok().and_then(|copies| CHOICES.get(copies));
    let Some((_, copying)) = choice else {
        return Err(wrong(format!(
            "copies are HOPCAST_PLATFORM_COPIES, HOPCAST_ZERO_COPY or HOPCAST_TWO_COPY, not {copies}"
        )));
    };
    Ok(Via { nics, copying: *copying })
}

/// The way that the hints of a communicator state.
pub fn of_hints(hints: &Pairs) -> Answer<Via> {
    let wrong = |reason| Error::new(Class::INFO_VALUE, reason);
    let text = |key: &str| hints.get(key.as_bytes()).map(|value| String::from_utf8_lossy(value));
    let nic = |key: &str| -> Answer<i64> {
        let Some(text) = text(key) else { return Ok(ANY_NIC) };
        text.trim().parse().map_err(|_| wrong(format!("{key} is the number of a NIC, not '{text}'")))
    };
    let nics = pair(nic(SOURCE_NIC)?, nic(DESTINATION_NIC)?).map_err(wrong)?;
    let Some(copies) = text(COPIES) else { return Ok(Via { nics, copying: None }) };
    let choice = CHOICES.iter().find(|(name, _)| *name == copies.trim());
    let known = || CHOICES.map(|(name, _)| name).join(", ");
    let (_, copying) =
        choice.ok_or_else(|| wrong(format!("{COPIES} is one of {}, not '{copies}'", known())))?;
    Ok(Via { nics, copying: *copying })
}

/// The NICs of these numbers; none if the platform chooses both.
fn pair(from: i64, to: i64) -> Result<Option<NicPair>, String> {
    if (from, to) == (ANY_NIC, ANY_NIC) {
        return Ok(None);
    }
    let most = Nics::MOST - 1;
    let nic = |number: i64, of: &str| match u8::try_from(number) {
        Ok(nic) if nic <= most => Ok(nic),
        _ if number == ANY_NIC => {
            Err(format!("the NIC of the {of} is left open, but not that of the other end"))
        }
        _ => Err(format!("the NIC of the {of} is a number from 0 to {most}, not {number}")),
    };
    Ok(Some(NicPair { from: nic(from, "source")?, to: nic(to, "destination")? }))
}
