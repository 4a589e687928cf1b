//! Modes of a distribution as a platform file writes them: `[{ weight = 0.9, mean = "1 us", deviation = "80 ns" }, …]`.

use engine::random::Shape;
use engine::registry::{Kind, Mode, Value};

use super::document::{Item, Node};
use super::error::{InputError, unknown};
use super::files::Lookup;
use super::value::check;

/// Keys of a mode.
const KEYS: [&str; 4] = ["weight", "mean", "deviation", "shape"];

/// Weights may be rounded: their sum is 1 within this.
const SUM_OFF_BY_MOST: f64 = 0.01;

/// Modes of `node`, written at the key `path`, with weights whose sum is 1.
pub(super) fn modes(node: &Node, path: &str, files: &Lookup) -> Result<Value, InputError> {
    let wrong = || {
        let example = "[{ weight = 0.9, mean = \"1 us\", deviation = \"80 ns\" }, …]";
        node.at.error(format!("{path}: {} is not a list of modes such as {example}", node.text))
    };
    let Item::List(nodes) = &node.item else { return Err(wrong()) };
    if nodes.is_empty() {
        return Err(wrong());
    }
    let mut modes: Vec<Mode> =
        nodes.iter().map(|node| mode(node, path, files)).collect::<Result<_, InputError>>()?;
    let sum: f64 = modes.iter().map(|mode| mode.weight).sum();
    if (sum - 1.0).abs() > SUM_OFF_BY_MOST {
        return Err(node.at.error(format!("{path}: weights sum to {sum}; all modes together have 1")));
    }
    modes.iter_mut().for_each(|mode| mode.weight /= sum);
    Ok(Value::Modes(modes))
}

fn mode(node: &Node, path: &str, files: &Lookup) -> Result<Mode, InputError> {
    let Item::Table(fields) = &node.item else {
        return Err(node
            .at
            .error(format!("{path}: {} is not a mode; write {{ mean = \"1 us\" }}", node.text)));
    };
    if let Some((key, stranger)) = fields.iter().find(|(key, _)| !KEYS.contains(&&key[..])) {
        return Err(stranger.key_at.error(format!("{path}: {}", unknown("key of a mode", key, &KEYS))));
    }
    let read = |key: &str, kind: Kind| {
        fields.get(key).map(|node| check(&kind, node, &format!("{path}.{key}"), files)).transpose()
    };
    let text = |key: &str, kind: Kind| match read(key, kind)? {
        Some(Value::Text(text)) => Ok(Some(text)),
        _ => Ok(None),
    };
    let weight = match read("weight", Kind::Number(0.0, 1.0))? {
        Some(Value::Number(weight)) => weight,
        _ => 1.0,
    };
    let mean = text("mean", Kind::Text)?;
    let shape = text("shape", Kind::Choice(Shape::NAMES))?.and_then(|name| Shape::named(&name));
    Ok(Mode {
        weight,
        mean: mean
            .ok_or_else(|| node.at.error(format!("{path}: a mode has a mean, such as mean = \"1 us\"")))?,
        deviation: text("deviation", Kind::Text)?,
        shape: shape.unwrap_or_default(),
    })
}
