//! Arguments from flags: the same checks as in files, for `--bytes 64KiB` and the like.

use engine::registry::{Arguments, Parameter};

use super::document;
use super::error::{InputError, unknown};
use super::files::{Files, Lookup};
use super::value;

/// Checks `flags` (name without dashes, value as written) against `parameters` and fills in defaults.
///
/// A value of a list may be written as `10,10,4`. `owner` names the entry that the flags belong to, for messages.
pub fn arguments(
    owner: &str,
    parameters: &'static [Parameter],
    flags: &[(String, String)],
    base: &dyn Files,
) -> Result<Arguments, InputError> {
    let mut arguments = Arguments::default();
    let files = Lookup { folder: "", beside: base, base };
    for (name, text) in flags {
        let key = name.replace('-', "_");
        let known: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
        let parameter = parameters.iter().find(|parameter| parameter.name == key).ok_or_else(|| {
            InputError::whole(format!("--{name}"), unknown(&format!("flag of {owner}"), &key, &known))
        })?;
        let is_list = matches!(parameter.kind, engine::registry::Kind::List(_));
        let text = if is_list && !text.contains('[') { format!("[{text}]") } else { text.clone() };
        let node = document::value(&format!("--{name} {text}"), &text);
        arguments.0.insert(parameter.name, value::check(&parameter.kind, &node, parameter.name, &files)?);
    }
    value::fill(parameters, &mut arguments).map_err(|parameter| {
        let what = value::describe(&parameter.kind);
        InputError::whole(
            format!("--{}", parameter.name),
            format!("is missing ({}): {what}", parameter.summary),
        )
    })?;
    Ok(arguments)
}
