//! The reference page of platform files.

use engine::registry::Parameter;

use super::read::path;
use super::sections::{Content, sections};
use super::value::describe;

/// Every section of a platform file with its keys, in Markdown.
pub fn reference() -> String {
    let mut page = String::new();
    for section in sections() {
        let name = if section.name.is_empty() { "(top)" } else { &section.name };
        page.push_str(&format!("\n## `{name}`\n\n{}.\n\n", section.summary));
        match &section.content {
            Content::Keys(parameters) | Content::Repeated(parameters) => {
                page.push_str(&keys(&section.name, parameters))
            }
            Content::Model { choices, .. } => {
                for choice in choices {
                    page.push_str(&format!(
                        "### `kind = \"{}\"`\n\n{}. Source: {}.\n\n",
                        choice.name, choice.summary, choice.source
                    ));
                    page.push_str(&keys(&section.name, choice.parameters));
                }
            }
        }
    }
    page
}

fn keys(section: &str, parameters: &[Parameter]) -> String {
    let row = |parameter: &Parameter| {
        let default = match parameter.default {
            None => "required".to_string(),
            Some("") => "–".to_string(),
            Some(default) => format!("`{default}`"),
        };
        let (key, kind) = (path(section, parameter.name), describe(&parameter.kind));
        format!("| `{key}` | {kind} | {default} | {} |\n", parameter.summary)
    };
    if parameters.is_empty() {
        return String::new();
    }
    let rows: String = parameters.iter().map(row).collect();
    format!("| key | takes | default | meaning |\n| --- | --- | --- | --- |\n{rows}\n")
}
