//! Names of places in the program, for reports of crashes.

use object::{Object, ObjectSymbol, SymbolKind};

use super::elf::Elf;

/// The function that holds `offset` of the image, and how far in: "solve+0x1c"; "+0x1a2c" where no symbol says.
pub fn name_of(elf: &Elf, offset: usize) -> String {
    let unknown = format!("+{offset:#x}");
    let Ok(file) = object::File::parse(&*elf.bytes) else { return unknown };
    let holds = |symbol: &object::Symbol| {
        let start = symbol.address() as usize;
        symbol.kind() == SymbolKind::Text && (start..start + symbol.size().max(1) as usize).contains(&offset)
    };
    let found = file.symbols().chain(file.dynamic_symbols()).find(holds);
    match found {
        Some(symbol) => {
            format!("{}+{:#x}", symbol.name().unwrap_or("?"), offset - symbol.address() as usize)
        }
        None => unknown,
    }
}
