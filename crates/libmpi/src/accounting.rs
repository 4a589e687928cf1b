//! Way in which computing is obtained: what the job asks for, and what its report says of that.

use std::path::{Path, PathBuf};

use engine::hash::Digest;
use serde_json::{Value, json};
use sim::{InputError, Prepared};

use crate::job::Job;
use crate::live::computing::{Computing, Conversion, How, Rates};
use crate::live::machine;
use crate::live::neighbours::Neighbours;
use crate::live::profile::{FORMAT, Machine, Profile, Program, VERSION};

/// Value of `--compute`.
#[derive(Debug, Clone, PartialEq)]
enum Asked {
    None,
    Measured(f64),
    Profile(PathBuf),
}

impl Asked {
    /// "none", "measured", "measured=1.7", "profile=FILE".
    fn parse(text: &str) -> Result<Asked, String> {
        let positive = |text: &str| text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
        let asked = match text.split_once('=') {
            None if text == "none" => Some(Asked::None),
            None if text == "measured" => Some(Asked::Measured(1.0)),
            Some(("measured", factor)) => positive(factor).map(Asked::Measured),
            Some(("profile", file)) if !file.is_empty() => Some(Asked::Profile(file.into())),
            _ => None,
        };
        asked.ok_or_else(|| format!("measured, measured=SCALE (above 0), profile=FILE or none, not '{text}'"))
    }
}

/// Account of a job's computing, for the report and for the profile that is written at the job's end.
pub struct Accounting {
    asked: Asked,
    /// Source of the times: the profile, if one is used.
    machine: Option<Machine>,
    processor: String,
    conversion: Conversion,
    /// The profile that was used, in words.
    used: Option<String>,
    program: Program,
    date: String,
    warnings: Vec<String>,
}

/// Opens the computing of a job.
pub fn open(job: &Job, prepared: &Prepared) -> Result<(Accounting, Computing), InputError> {
    let refuse = |reason: String| InputError::whole("compute", reason);
    let asked = Asked::parse(&job.request.compute()).map_err(refuse)?;
    let draws = job.request.compute_noise == Some(true);
    if asked == Asked::None && (draws || job.request.compute_rates.is_some()) {
        let reason = "compute_rates and compute_noise are for computing that takes time, and with 'none' it takes none";
        return Err(refuse(reason.into()));
    }
    let has_kernels = !prepared.kernels().is_empty() && job.request.kernels() != "off";
    if asked == Asked::None && job.request.compute_scale.is_some() && !has_kernels {
        let reason = "compute_scale multiplies measured times and those of kernels; with 'none', and without \
                      [[compute.kernels]] of the platform, there is nothing to multiply";
        return Err(refuse(reason.into()));
    }
    let by_platform_rates = job.request.compute_rates() == "platform";
    let program = program(job, prepared.ranks()).map_err(refuse)?;
    let (mut how, mut neighbours, mut machine) = (How::Measured, None, None);
    let (mut used, mut warnings) = (None, Vec::new());
    match &asked {
        Asked::None => how = How::Free,
        Asked::Measured(_) if by_platform_rates => {
            machine = Some(rates_of_this_machine(job.machine.as_deref()))
        }
        Asked::Measured(_) => {}
        Asked::Profile(file) if file.exists() => {
            let place = file.display();
            let profile = Profile::read(file).map_err(|error| refuse(format!("{place}: {error}")))?;
            warnings.extend(
                differences(&profile.program, &program).map_err(|why| refuse(format!("{place}: {why}")))?,
            );
            let processor = &profile.machine.processor;
            used = Some(format!(
                "{place} (measured on {processor}, {}, {} ranks)",
                profile.date, profile.program.ranks
            ));
            machine = Some(profile.machine.clone());
            how = How::Profile(Box::new(profile));
        }
        Asked::Profile(file) => {
            // Before the run, not when it is over.
            std::fs::File::create(file)
                .and_then(|_| std::fs::remove_file(file))
                .map_err(|error| refuse(format!("no profile can be kept in {}: {error}", file.display())))?;
            neighbours = Neighbours::start(machine::cores()).map_err(|error| refuse(error.to_string()))?;
            machine = Some(machine::measure(neighbours.as_mut()));
        }
    }
    if draws && !matches!(how, How::Profile(_)) {
        return Err(refuse(
            "--compute-noise draws from a profile: --compute profile=FILE, and a FILE that is there".into(),
        ));
    }
    let scale = job.compute_scale() * if let Asked::Measured(factor) = asked { factor } else { 1.0 };
    let by_rates = machine.as_ref().filter(|_| by_platform_rates);
    let rates = by_rates.map(|machine| Rates::of(machine, &prepared.processor()));
    let conversion = Conversion { scale, rates };
    let mut computing =
        Computing::new(prepared.ranks(), how, conversion, draws.then_some(job.request.seed()));
    if let Some(neighbours) = neighbours {
        computing.disturb(neighbours);
    }
    let processor = machine::processor();
    let date = job.date.clone();
    Ok((Accounting { asked, machine, processor, conversion, used, program, date, warnings }, computing))
}

impl Accounting {
    /// Writes the profile, if one was measured and the program ended well. Gives what the report says of computing, and
    /// its warnings.
    pub fn close(mut self, computing: &Computing, ended_well: bool) -> (Value, Vec<String>) {
        let mut sentence = self.sentence();
        if let (Asked::Profile(file), None) = (&self.asked, &self.used) {
            match self.keep(file, computing, ended_well) {
                Ok(kept) => sentence += &kept,
                Err(why) => self.warnings.push(format!("computing: no profile was kept: {why}")),
            }
        }
        let (discarded, all, time) = computing.discarded();
        if discarded > 0 {
            sentence += &format!(
                "; {discarded} of {all} stretches were longer by interruptions of this machine, {:.3} ms in all, which do \
                 not count",
                time * 1e3
            );
        }
        self.warnings.extend(computing.warning());
        let how = match (&self.asked, &self.used) {
            (Asked::None, _) => "none",
            (_, Some(_)) => "profile",
            _ => "measured",
        };
        let said = json!({ "how": how, "sentence": sentence, "scale": self.conversion.scale,
            "machine": self.machine, "stretches": all, "discarded": discarded });
        (said, self.warnings)
    }

    fn sentence(&self) -> String {
        let from = match (&self.asked, &self.used) {
            (Asked::None, _) => {
                return "computing between MPI calls takes no time (--compute none)".to_string();
            }
            (_, Some(used)) => format!("computing is that of the profile {used}"),
            _ => format!("computing was measured on this machine ({})", self.processor),
        };
        let scale = self.conversion.scale;
        match (&self.conversion.rates, &self.machine) {
            (Some(rates), Some(machine)) => {
                let (flops, factor) = (machine.flop_rate / 1e9, scale * rates.arithmetic);
                format!(
                    "{from}; arithmetic takes {factor:.3} times as long: that core's peak is {flops:.1} Gflop/s, the \
                     platform's {:.1} Gflop/s",
                    flops / rates.arithmetic
                )
            }
            _ if scale == 1.0 => format!("{from}, times 1: the platform's cores are taken to be as fast"),
            _ => {
                let speed = if scale > 1.0 {
                    format!("{scale:.3} times slower")
                } else {
                    format!("{:.3} times faster", 1.0 / scale)
                };
                format!("{from}, times {scale}: the platform's cores are taken to be {speed}")
            }
        }
    }

    /// Writes the profile that was measured.
    fn keep(&self, file: &Path, computing: &Computing, ended_well: bool) -> Result<String, String> {
        let machine = self.machine.clone().expect("a profile that is measured is of a machine");
        if !ended_well {
            return Err("the run did not come to its end".to_string());
        }
        let tells = machine.tells_memory();
        let profile = Profile {
            format: FORMAT.to_string(),
            version: VERSION,
            hopcast_version: env!("CARGO_PKG_VERSION").to_string(),
            date: self.date.clone(),
            stretches: computing.entries(&machine),
            machine,
            program: self.program.clone(),
        };
        profile.write(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let memory = if tells {
            ""
        } else {
            ", without what memory has to do with it: its cores do not slow each other"
        };
        Ok(format!(", and is kept in {}, from which later runs take it{memory}", file.display()))
    }
}

/// The program of a job.
fn program(job: &Job, ranks: u32) -> Result<Program, String> {
    let file = job.program();
    let contents = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut hash = Digest::default();
    for chunk in contents.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash.fold(u64::from_le_bytes(word));
    }
    hash.fold(contents.len() as u64);
    let words = job.words()[1..].iter().map(|word| String::from_utf8_lossy(word).into_owned());
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    Ok(Program { file: name, hash: format!("{:016x}", hash.value()), arguments: words.collect(), ranks })
}

/// Warnings for a run that takes the profile of another; an error if it is of another program.
fn differences(of: &Program, now: &Program) -> Result<Vec<String>, String> {
    if of.hash != now.hash {
        return Err(format!(
            "was measured with another build of {}: measure it anew (remove the file, or name another)",
            of.file
        ));
    }
    let mut all = Vec::new();
    if of.ranks != now.ranks {
        all.push(format!(
            "computing: the profile is of {} ranks, this run has {}: its stretches are as long as with {}, which is right only \
             if a rank's work does not depend on their number",
            of.ranks, now.ranks, of.ranks
        ));
    }
    if of.arguments != now.arguments {
        all.push(format!(
            "computing: the profile is of the arguments '{}', and its stretches are as long as with those",
            of.arguments.join(" ")
        ));
    }
    Ok(all)
}

/// The rates of this machine, which are measured once and kept in a file.
fn rates_of_this_machine(kept: Option<&Path>) -> Machine {
    let known = kept.and_then(|file| std::fs::read_to_string(file).ok());
    let known: Option<Machine> = known.and_then(|text| serde_json::from_str(&text).ok());
    let same = |known: &Machine| known.processor == machine::processor() && known.cores == machine::cores();
    known.filter(same).unwrap_or_else(|| {
        let measured = machine::measure(None);
        if let Some(file) = kept {
            let text = serde_json::to_string_pretty(&measured).expect("numbers are finite");
            // If they cannot be kept, the next run measures them again.
            let _ = file.parent().map(std::fs::create_dir_all);
            let _ = std::fs::write(file, text);
        }
        measured
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_computing_and_what_is_none() {
        assert_eq!(Asked::parse("none"), Ok(Asked::None));
        assert_eq!(Asked::parse("measured"), Ok(Asked::Measured(1.0)));
        assert_eq!(Asked::parse("measured=1.5"), Ok(Asked::Measured(1.5)));
        assert_eq!(Asked::parse("profile=a=b.json"), Ok(Asked::Profile("a=b.json".into())));
        for wrong in
            ["measured=0", "measured=-1", "measured=inf", "sampled=5%", "fast", "none=2", "profile=", ""]
        {
            assert!(Asked::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_profile_of_another_build_is_refused_and_of_other_ranks_is_said() {
        let of = |hash: &str, ranks| Program {
            file: "app".into(),
            hash: hash.into(),
            arguments: Vec::new(),
            ranks,
        };
        assert!(differences(&of("1", 4), &of("2", 4)).unwrap_err().contains("another build"));
        assert_eq!(differences(&of("1", 4), &of("1", 4)), Ok(Vec::new()));
        assert!(differences(&of("1", 4), &of("1", 8)).unwrap()[0].contains("of 4 ranks, this run has 8"));
    }
}
