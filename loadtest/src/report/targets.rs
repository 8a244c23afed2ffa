//! Targets of figures, such as `p99_ms<=5+2*fdatasync_p99_ms`.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Required bound of a figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct FigureTarget {
    text: String,
    figure: String,
    at_least: bool,
    limit: f64,
    /// Multiple of another figure that is added to the limit.
    more: Option<(f64, String)>,
}

/// Result of a target.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct TargetOutcome {
    /// Text of the target.
    pub(crate) target: String,
    /// Measured value; `None` if the report has no such figure.
    pub(crate) value: Option<f64>,
    /// Computed limit.
    pub(crate) limit: Option<f64>,
    pub(crate) met: bool,
}

impl FigureTarget {
    /// Compares figures with the target. A missing figure fails it.
    pub(crate) fn hold(&self, figures: &BTreeMap<String, f64>) -> TargetOutcome {
        let value = figures.get(&self.figure).copied();
        let limit = match &self.more {
            None => Some(self.limit),
            Some((times, other)) => figures.get(other).map(|more| self.limit + times * more),
        };
        let met = value.zip(limit).is_some_and(|(value, limit)| {
            if self.at_least {
                value >= limit
            } else {
                value <= limit
            }
        });
        TargetOutcome {
            target: self.text.clone(),
            value,
            limit,
            met,
        }
    }
}

impl FromStr for FigureTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a target: use p99_ms<=5, or p99_ms<=5+2*fdatasync_p99_ms");
        let (figure, at_least, rest) = if let Some((figure, rest)) = text.split_once(">=") {
            (figure, true, rest)
        } else if let Some((figure, rest)) = text.split_once("<=") {
            (figure, false, rest)
        } else {
            return Err(wrong());
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let (limit, more) = match rest.split_once('+') {
            None => (number(rest)?, None),
            Some((limit, more)) => {
                let (times, other) = more.split_once('*').ok_or_else(wrong)?;
                (
                    number(limit)?,
                    Some((number(times)?, other.trim().to_owned())),
                )
            }
        };
        if figure.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            text: text.to_owned(),
            figure: figure.trim().to_owned(),
            at_least,
            limit,
            more,
        })
    }
}

impl TryFrom<String> for FigureTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<FigureTarget> for String {
    fn from(target: FigureTarget) -> Self {
        target.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_held_against_targets() {
        let figures: BTreeMap<String, f64> = [("p99_ms", 7.0), ("sync_ms", 1.5)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        let met = |text: &str| text.parse::<FigureTarget>().unwrap().hold(&figures).met;
        assert!(met("p99_ms<=7") && met("p99_ms>=7") && met("p99_ms <= 5 + 2*sync_ms"));
        assert!(!met("p99_ms<=6.9") && !met("p99_ms>=7.1") && !met("p99_ms<=5+1*sync_ms"));
        assert!(!met("p98_ms<=100"), "what was not measured is missed");
        assert!(!met("p99_ms<=5+2*other"));
    }

    #[test]
    fn what_is_no_target() {
        for bad in [
            "",
            "p99_ms",
            "p99_ms<5",
            "p99_ms<=",
            "<=5",
            "p99_ms<=5+2",
            "p99_ms<=a",
        ] {
            assert!(bad.parse::<FigureTarget>().is_err(), "{bad}");
        }
    }
}
