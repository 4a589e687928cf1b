//! Spellings of units: those of the tables of `units`, and those of vendors, benchmarks and papers.

/// The units of a quantity: name and factor.
pub type Units = &'static [(&'static str, f64)];

/// Unit suffixes and their alternative spellings. A small b is a bit and a large one a byte, as network vendors write
/// them.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("bit/s", &["bits/s", "b/s", "bps"]),
    (
        "flop/s",
        &["flops/s", "flops", "Flop/s", "Flops/s", "Flops", "FLOP/s", "FLOPs/s", "FLOPS/s", "FLOPs", "FLOPS"],
    ),
    ("B/s", &["Bps", "byte/s", "bytes/s", "Byte/s", "Bytes/s"]),
    ("/s", &[]),
    ("B", &["byte", "bytes", "Byte", "Bytes"]),
    ("s", &["sec"]),
    ("h", &["hr"]),
];

/// All spellings of a unit of the tables, its own first.
pub fn spellings(unit: &str) -> Vec<String> {
    let mut all = vec![unit.to_string()];
    if let Some((end, others)) = SPELLINGS.iter().find(|(end, _)| unit.ends_with(end)) {
        let start = &unit[..unit.len() - end.len()];
        all.extend(others.iter().map(|other| format!("{start}{other}")));
    }
    // The Greek letter is on more keyboards than the micro sign, which looks like it.
    let variants: [fn(&str) -> Option<String>; 3] = [
        |name| name.strip_suffix("/s").map(|rate| format!("{rate}/sec")),
        |name| name.strip_prefix('k').map(|rest| format!("K{rest}")),
        |name| name.strip_prefix('µ').map(|rest| format!("μ{rest}")),
    ];
    for variant in variants {
        all.extend(all.iter().filter_map(|name| variant(name)).collect::<Vec<_>>());
    }
    all
}

/// Factor of a unit, in any of its spellings.
pub fn factor(unit: &str, units: Units) -> Option<f64> {
    let is_spelled_so = |(name, _): &&(&str, f64)| spellings(name).iter().any(|spelling| spelling == unit);
    units.iter().find(is_spelled_so).map(|(_, factor)| *factor)
}

#[cfg(test)]
mod tests {
    use crate::units::{Bandwidth, Bytes, Duration, FlopRate};

    /// Spellings of vendors, benchmarks and papers: 100 Gb/s are 12.5 GB/s.
    #[test]
    fn units_are_understood_in_the_spellings_of_the_field() {
        for text in
            ["100 Gb/s", "100Gbps", "100 Gbit/s", "100 Gbits/s", "12.5 GBps", "12.5 GByte/s", "12.5e6 KB/sec"]
        {
            assert_eq!(text.parse(), Ok(Bandwidth(12_500_000_000)), "{text}");
        }
        assert_eq!("1 TiB/s".parse(), Ok(Bandwidth(1 << 40)));
        for text in ["40 GFLOPS", "40 GFLOP/s", "40 Gflops", "40GFlop/s", "40 GFlops/s", "40e6 Kflop/s"] {
            assert_eq!(text.parse(), Ok(FlopRate(40_000_000_000)), "{text}");
        }
        for text in ["2 us", "2 µs", "2 μs", "2usec", "0.002 msec", "2e-6 sec"] {
            assert_eq!(text.parse(), Ok(Duration(2_000_000)), "{text}");
        }
        for text in ["64 KiB", "65536 bytes", "65536 Byte", "65.536 KB"] {
            assert_eq!(text.parse(), Ok(Bytes(65_536)), "{text}");
        }
        // Quantities that are not rates, and unusual prefixes, are refused.
        for bad in ["100 Gb", "100 gb/s", "100 GB", "40 GFLOP", "100 ps"] {
            assert!(bad.parse::<Bandwidth>().is_err() && bad.parse::<FlopRate>().is_err(), "{bad}");
        }
    }
}
