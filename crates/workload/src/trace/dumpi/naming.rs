//! Ranks by file name: `prefix-0003.bin` is rank 3. A `.meta` file beside them, if there is one, states the prefix
//! and the number of files.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::trace::error::TraceError;
use crate::trace::input::TraceFile;

/// Content of a `.meta` file: lines of `name=value`.
pub struct Meta {
    name: Arc<str>,
    ranks: Option<usize>,
    prefix: Option<String>,
}

impl Meta {
    /// Reads the file.
    pub fn read(file: &TraceFile) -> Result<Meta, TraceError> {
        let text = file.peek(0, 1 << 16)?;
        let text = String::from_utf8_lossy(&text);
        let value = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .map(|v| v.trim().to_string())
        };
        let ranks = value("numprocs").map(|count| {
            count
                .parse()
                .map_err(|_| TraceError::new(&*file.name, format!("numprocs={count} is not a number")))
        });
        Ok(Meta { name: file.name.clone(), ranks: ranks.transpose()?, prefix: value("fileprefix") })
    }
}

/// The `.bin` files in the order of their ranks: 0, 1, … without a gap.
pub fn by_rank(files: Vec<TraceFile>, meta: Option<&Meta>) -> Result<Vec<TraceFile>, TraceError> {
    let mut found: Vec<_> = files.into_iter().filter(|file| file.name.ends_with(".bin")).collect();
    // A single file may be of any rank, unless a file beside it states the number of ranks.
    if let [only] = &found[..]
        && (meta.is_none() || numbered(only).is_none())
    {
        return Ok(found);
    }
    let mut ranks: BTreeMap<u32, TraceFile> = BTreeMap::new();
    let mut first_prefix: Option<String> = None;
    for file in found.drain(..) {
        let Some((prefix, rank)) = numbered(&file) else {
            return Err(TraceError::new(
                &*file.name,
                "its name does not end in -NUMBER.bin, so its rank is unknown",
            ));
        };
        if meta.and_then(|meta| meta.prefix.as_deref()).is_some_and(|wanted| wanted != prefix) {
            continue; // another run in the same folder
        }
        let expected = first_prefix.get_or_insert_with(|| prefix.to_string());
        if *expected != prefix {
            let reason = format!("two runs in one set: '{expected}' and '{prefix}'; name the files of one");
            return Err(TraceError::new(&*file.name, reason));
        }
        if let Some(other) = ranks.get(&rank) {
            return Err(TraceError::new(
                &*file.name,
                format!("rank {rank} has another file: {}", other.name),
            ));
        }
        ranks.insert(rank, file);
    }
    let Some((&last, newest)) = ranks.last_key_value() else {
        let name = meta.map_or("DUMPI set", |meta| &meta.name);
        return Err(TraceError::new(name, "no file PREFIX-NUMBER.bin belongs to it"));
    };
    let count = meta.and_then(|meta| meta.ranks).unwrap_or(last as usize + 1);
    if ranks.len() != count || last as usize + 1 != count {
        let missing = (0..count as u32).find(|rank| !ranks.contains_key(rank));
        let missing = missing.map_or(String::new(), |rank| format!("; rank {rank} is missing"));
        let reason =
            format!("the set has {} files up to rank {last}, but must have {count}{missing}", ranks.len());
        return Err(TraceError::new(&*newest.name, reason));
    }
    Ok(ranks.into_values().collect())
}

/// `("testtrace", 3)` of `testtrace-0003.bin`.
pub fn numbered(file: &TraceFile) -> Option<(&str, u32)> {
    let (prefix, number) = file.base_name().strip_suffix(".bin")?.rsplit_once('-')?;
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((prefix, if digits { number.parse().ok()? } else { return None }))
}
