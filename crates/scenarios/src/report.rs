//! What came of a scenario.

use crate::refused::Refused;
use std::fmt;

/// One answer that is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The line of the question in its file, from 1, where known.
    pub line: Option<usize>,
    /// The place in the scenario, such as `checks[3]`.
    pub place: String,
    /// The question, in words.
    pub question: String,
    /// What the scenario expects.
    pub expected: String,
    /// What came instead.
    pub got: String,
    /// Which walk gave it, a line for each decision behind it.
    pub explanation: Vec<String>,
}

/// Whether the answers were the expected ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All were.
    Held,
    /// These were not.
    Differs(Vec<Difference>),
    /// Nothing was asked: the scenario states what the model refuses.
    Refused(Refused),
}

/// What came of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The file it stands in, as the caller named it.
    pub file: String,
    /// How many questions were asked.
    pub asked: usize,
    /// What came of them.
    pub outcome: Outcome,
}

impl Report {
    /// What a test runner exits with for this scenario: 0 held, 1 differs, 2 refused.
    pub const fn exit_code(&self) -> u8 {
        match self.outcome {
            Outcome::Held => 0,
            Outcome::Differs(_) => 1,
            Outcome::Refused(_) => 2,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.place, self.question)?;
        writeln!(f, "  expected  {}", self.expected)?;
        write!(f, "  got       {}", self.got)?;
        for line in &self.explanation {
            write!(f, "\n            {line}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Held => write!(f, "ok      {}: {} ({} asked)", self.file, self.scenario, self.asked),
            Outcome::Refused(refused) => write!(f, "refused {refused}"),
            Outcome::Differs(differences) => {
                let (wrong, asked) = (differences.len(), self.asked);
                write!(f, "differs {}: {} ({wrong} of {asked} differ)", self.file, self.scenario)?;
                for difference in differences {
                    let at =
                        difference.line.map(|line| format!("{}:{line}: ", self.file)).unwrap_or_default();
                    write!(f, "\n{at}{difference}")?;
                }
                Ok(())
            }
        }
    }
}
