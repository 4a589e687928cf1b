//! Noise: each computation of a rank takes longer or shorter by chance, and hosts differ.
//!
//! ```text
//!   t' = t · h · (1 + σ |z|)                 half-normal: the system only takes time away; mean t h (1 + σ √(2/π))
//!   t' = t · h · max(0, 1 + σ z)             normal: mean t h, as long as σ is well below 1
//!   t' = t · h · max(0, μ_i + σ_i x)         modes, of which i is drawn with probability π_i
//!   h = max(0.01, 1 + σ_h y)                 of the host, for the whole run
//! ```
//!
//! t is the time of the roofline model; z and y are standard normal: z is drawn for each computation of a rank, from the
//! stream of the rank, and y once for each host, from the stream of the host. Draws depend on the seed, the rank
//! and the number of the computation alone, so that neither other ranks nor threads change them.
//!
//! Assumptions: computations are independent of each other, and the noise of one grows with its length. Computing that
//! states its time (recorded runs, kernels with formulas) is varied, too, beside the noise of its kernel; time that
//! MPI itself takes is not. Validity: compute-bound kernels, whose times have a sharp lower bound and a tail above, or
//! modes, where a few computations take a multiple of the others; interruptions that do not grow with the computation
//! are not described. x is normal or half-normal, with mean 0 and deviation 1. Sources: Petrini, Kerbyson, Pakin, "The
//! case of the missing supercomputer performance" (SC 2003); Cornebize, "High performance computing: towards better
//! performance predictions and experiments" (thesis, Université Grenoble Alpes 2021), 4.1, for the half-normal shape
//! and for hosts that differ.

use engine::Duration;
use engine::hash::Map;
use engine::random::{Shape, normal, pick, stream};
use engine::registry::{BuildError, Entry, Kind, Mode, Parameter};

use super::{Build, ComputeModel, Processor, Slot};
use crate::operation::Work;

/// Entry of the registry.
pub const ENTRY: Entry<Build> = Entry {
    name: "noise",
    summary: "roofline, and each computation of a rank is drawn longer; hosts may differ",
    source: "Petrini, Kerbyson, Pakin, SC 2003; Cornebize, thesis, 2021",
    parameters: &[
        Parameter {
            name: "distribution",
            kind: Kind::Choice(Distribution::NAMES),
            default: Some("half-normal"),
            summary: "Of the times of equal work: only longer than without noise, or to both sides",
        },
        Parameter {
            name: "deviation",
            kind: Kind::Number(0.0, 10.0),
            default: Some("0.02"),
            summary: "σ: of the normal distribution that is drawn from, as a part of the computation's time",
        },
        Parameter {
            name: "host_deviation",
            kind: Kind::Number(0.0, 10.0),
            default: Some("0"),
            summary: "σ_h: standard deviation of the lasting factors of hosts",
        },
        Parameter {
            name: "modes",
            kind: Kind::Modes,
            default: Some(""),
            summary: "Modes of the factors, in place of distribution and deviation: \
                [{ weight = 0.98, mean = \"1\" }, { weight = 0.02, mean = \"3\", deviation = \"0.5\" }]",
        },
    ],
    examples: &[
        "",
        "distribution = \"normal\"\ndeviation = 0.1\nhost_deviation = 0.05",
        "modes = [{ weight = 0.9, mean = \"1\", deviation = \"0.01\" }, { weight = 0.1, mean = \"2\" }]",
    ],
    build: |arguments, processor, seed| {
        let number = |name| arguments.number(name).expect("has a default");
        let distribution = arguments.text("distribution").and_then(|name| Distribution::named(&name));
        let modes = arguments.modes("modes").unwrap_or_default();
        Ok(Box::new(Noise {
            processor,
            seed,
            distribution: distribution.expect("a known choice"),
            deviation: number("deviation"),
            modes: modes.iter().map(factors).collect::<Result<Vec<_>, BuildError>>()?,
            host_deviation: number("host_deviation"),
            drawn: Map::default(),
        }))
    },
};

/// Shape of the factors of equal work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distribution {
    /// 1 + σ |z|
    HalfNormal,
    /// 1 + σ z, and 0 at least
    Normal,
}

impl Distribution {
    const NAMES: &[&str] = &["half-normal", "normal"];

    fn named(name: &str) -> Option<Distribution> {
        let all = [Distribution::HalfNormal, Distribution::Normal];
        all.into_iter().zip(Distribution::NAMES).find_map(|(one, known)| (*known == name).then_some(one))
    }
}

/// Roofline times with factors that are drawn.
#[derive(Debug)]
struct Noise {
    processor: Processor,
    seed: u64,
    distribution: Distribution,
    deviation: f64,
    /// In place of both, if there are any.
    modes: Vec<FactorMode>,
    host_deviation: f64,
    /// Number of computations that each rank has begun.
    drawn: Map<u32, u32>,
}

/// One mode of factors.
#[derive(Debug)]
struct FactorMode {
    weight: f64,
    mean: f64,
    deviation: f64,
    shape: Shape,
}

/// Factors of a mode of a platform file, whose texts are numbers.
fn factors(mode: &Mode) -> Result<FactorMode, BuildError> {
    let number = |text: &str| {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let reason = || format!("'{text}' is not a factor, which is a number of at least 0, such as \"1.5\"");
        value.ok_or_else(|| BuildError::new("modes", reason()))
    };
    let deviation = mode.deviation.as_deref().map_or(Ok(0.0), number)?;
    Ok(FactorMode { weight: mode.weight, mean: number(&mode.mean)?, deviation, shape: mode.shape })
}

/// Words of a stream for each normal number: two numbers of 64 bits.
const WORDS: u128 = 4;

/// The same with a number that chooses a mode.
const WORDS_OF_MODES: u128 = 8;

/// Least factor of a host: none is a hundred times as fast as the others.
const LEAST: f64 = 0.01;

impl Noise {
    /// Factor of the next computation of `rank`.
    fn of_next(&mut self, rank: u32) -> f64 {
        let drawn = self.drawn.entry(rank).or_default();
        let mut stream = stream(self.seed, "compute noise", rank.into());
        let words = if self.modes.is_empty() { WORDS } else { WORDS_OF_MODES };
        stream.set_word_pos(u128::from(*drawn) * words);
        *drawn = drawn.wrapping_add(1);
        if !self.modes.is_empty() {
            let mode = &self.modes[pick(self.modes.iter().map(|mode| mode.weight), &mut stream)];
            return (mode.mean + mode.deviation * mode.shape.draw(&mut stream)).max(0.0);
        }
        let z = normal(&mut stream);
        match self.distribution {
            Distribution::HalfNormal => 1.0 + self.deviation * z.abs(),
            Distribution::Normal => (1.0 + self.deviation * z).max(0.0),
        }
    }

    /// Lasting factor of `host`.
    fn of_host(&self, host: u32) -> f64 {
        if self.host_deviation == 0.0 {
            return 1.0;
        }
        let mut stream = stream(self.seed, "compute hosts", host.into());
        (1.0 + self.host_deviation * normal(&mut stream)).max(LEAST)
    }
}

impl ComputeModel for Noise {
    fn time(&mut self, slot: Slot, work: Work) -> Duration {
        let factor = self.of_next(slot.rank) * self.of_host(slot.host);
        self.processor.time(work).scaled(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sockets, build};
    use super::*;
    use engine::registry::{Arguments, Value};
    use engine::{Bandwidth, FlopRate};

    const PROCESSOR: Processor = Processor {
        flop_rate: FlopRate(1_000_000_000),
        memory_bandwidth: Bandwidth::INFINITE,
        sockets: Sockets::UNLIMITED,
    };

    fn noise(distribution: &str, deviation: f64, host_deviation: f64) -> Box<dyn ComputeModel> {
        let arguments = Arguments(
            [
                ("distribution", Value::Text(distribution.into())),
                ("deviation", Value::Number(deviation)),
                ("host_deviation", Value::Number(host_deviation)),
            ]
            .into(),
        );
        build("noise", &arguments, PROCESSOR, 7).expect("these arguments are right")
    }

    /// Mean and standard deviation of 200,000 computations of 1 us [us].
    fn moments(mut times: impl FnMut(u32) -> Duration) -> (f64, f64) {
        let count = 200_000;
        let times: Vec<f64> = (0..count).map(|each| times(each).0 as f64 / 1e6).collect();
        let mean = times.iter().sum::<f64>() / f64::from(count);
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(count);
        (mean, variance.sqrt())
    }

    const WORK: Work = Work::Time(Duration(1_000_000));

    /// Half-normal: mean 1 + σ √(2/π), deviation σ √(1 − 2/π), and nothing below 1; normal: mean 1, deviation σ. The
    /// mean of 200,000 draws is off by σ / √200,000 = 0.0022 σ: four times that is allowed, and the same of the deviation.
    #[test]
    fn times_have_the_mean_and_deviation_of_the_formula() {
        let (sigma, half) = (0.1, std::f64::consts::FRAC_2_PI);
        for (distribution, mean, deviation) in
            [("half-normal", 1.0 + sigma * half.sqrt(), sigma * (1.0 - half).sqrt()), ("normal", 1.0, sigma)]
        {
            let mut model = noise(distribution, sigma, 0.0);
            let slot = Slot { rank: 3, host: 1 };
            let mut least = Duration(u64::MAX);
            let found = moments(|_| {
                let time = model.time(slot, WORK);
                least = least.min(time);
                time
            });
            let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.01 * sigma;
            assert!(near(found.0, mean) && near(found.1, deviation), "{distribution}: {found:?}");
            assert_eq!(least >= Duration(1_000_000), distribution == "half-normal", "{least:?}");
        }
    }

    fn with_modes(modes: &[(f64, &str, &str, Shape)]) -> Result<Box<dyn ComputeModel>, BuildError> {
        let modes = modes.iter().map(|&(weight, mean, deviation, shape)| Mode {
            weight,
            mean: mean.into(),
            deviation: Some(deviation.into()),
            shape,
        });
        let text = ("distribution", Value::Text("half-normal".into()));
        let numbers = ["deviation", "host_deviation"].map(|name| (name, Value::Number(0.0)));
        let modes = ("modes", Value::Modes(modes.collect()));
        build("noise", &Arguments([text, modes].into_iter().chain(numbers).collect()), PROCESSOR, 7)
    }

    /// Mean Σ π μ = 0.75 + 0.75, variance Σ π (σ² + μ²) − mean² = 0.7575 + 2.26 − 2.25 = 0.7675: of 200,000 draws the mean
    /// is off by 0.876 / √200,000 = 0.002, and the rest likewise.
    #[test]
    fn factors_are_those_of_the_modes() {
        let modes = [(0.75, "1", "0.1", Shape::Normal), (0.25, "3", "0.2", Shape::HalfNormal)];
        let mut model = with_modes(&modes).expect("these modes are right");
        let (mean, deviation) = moments(|_| model.time(Slot { rank: 3, host: 1 }, WORK));
        assert!((mean - 1.5).abs() < 0.008, "{mean}");
        assert!((deviation - 0.7675_f64.sqrt()).abs() < 0.008, "{deviation}");
    }

    #[test]
    fn a_factor_is_a_number_of_at_least_zero() {
        for (mean, deviation) in [("1 us", "0"), ("-1", "0"), ("inf", "0"), ("1", "-0.1"), ("1", "nan")] {
            let wrong = with_modes(&[(1.0, mean, deviation, Shape::Normal)]).expect_err("no factor");
            assert_eq!(wrong.parameter, "modes");
            assert!(wrong.reason.contains("is not a factor"), "{}", wrong.reason);
        }
    }

    /// A host keeps its factor, whoever computes there, and factors of many hosts have the deviation asked for.
    #[test]
    fn hosts_differ_lastingly() {
        let mut model = noise("normal", 0.0, 0.1);
        let time = |model: &mut Box<dyn ComputeModel>, rank, host| model.time(Slot { rank, host }, WORK);
        assert_eq!(time(&mut model, 0, 5), time(&mut model, 1, 5));
        assert_ne!(time(&mut model, 0, 5), time(&mut model, 0, 6));
        let (mean, deviation) = moments(|host| time(&mut model, 0, host));
        assert!((mean - 1.0).abs() < 0.001 && (deviation - 0.1).abs() < 0.001, "{mean} {deviation}");
    }

    /// Times of a rank are the same in whatever order ranks compute, and other ranks' differ.
    #[test]
    fn a_rank_draws_from_its_own_stream() {
        let ranks = [0, 1, 2, 3];
        let times = |order: &[u32]| {
            let mut model = noise("half-normal", 0.1, 0.0);
            let mut times = vec![Vec::new(); 4];
            for rank in order {
                times[*rank as usize].push(model.time(Slot { rank: *rank, host: 0 }, WORK));
            }
            times
        };
        let in_turns = times(&ranks.repeat(3));
        assert_eq!(in_turns, times(&[3, 3, 3, 1, 0, 0, 2, 1, 2, 1, 0, 2]));
        let all: std::collections::BTreeSet<_> = in_turns.iter().flatten().collect();
        assert_eq!(all.len(), 12, "draws repeat");
    }
}
