//! OpenTelemetry's environment variables, for deployments that set them for every program. The configuration file and
//! `KEDGE_…` variables take precedence.
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>

use figment::value::{Dict, Value};

use super::error::{ConfigError, wrong};

/// Values that switch tracing off, whatever else is configured.
const DISABLED: [(&str, &str); 2] = [
    ("OTEL_SDK_DISABLED", "true"),
    ("OTEL_TRACES_EXPORTER", "none"),
];

pub(super) fn is_disabled(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |(name, off): &(&str, &str)| {
        variable(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(off))
    };
    DISABLED.iter().any(is)
}

/// The options set by the environment.
pub(super) fn options(variable: impl Fn(&str) -> Option<String>) -> Result<Dict, ConfigError> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let mut options = Dict::new();
    let of_all = set("OTEL_EXPORTER_OTLP_ENDPOINT");
    let of_all = of_all.map(|url| format!("{}/v1/traces", url.trim_end_matches('/')));
    if let Some(endpoint) = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or(of_all) {
        options.insert("tracing_endpoint".to_owned(), endpoint.into());
    }
    if let Some(name) = set("OTEL_SERVICE_NAME") {
        options.insert("tracing_service_name".to_owned(), name.into());
    }
    if let Some(attributes) = set("OTEL_RESOURCE_ATTRIBUTES") {
        let attributes: Vec<Value> = attributes
            .split(',')
            .map(|attribute| Value::from(attribute.trim().to_owned()))
            .collect();
        options.insert("tracing_attributes".to_owned(), attributes.into());
    }
    if let Some(ratio) = ratio(set)? {
        options.insert("tracing_sample_ratio".to_owned(), ratio.into());
    }
    let milliseconds =
        set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT").or(set("OTEL_EXPORTER_OTLP_TIMEOUT"));
    if let Some(milliseconds) = milliseconds {
        let seconds = number("OTEL_EXPORTER_OTLP_TIMEOUT", &milliseconds)?.div_ceil(1_000);
        options.insert("tracing_timeout_s".to_owned(), seconds.into());
    }
    for (name, option) in [
        ("OTEL_BSP_MAX_QUEUE_SIZE", "tracing_queue_max"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "tracing_batch_max"),
        ("OTEL_BSP_SCHEDULE_DELAY", "tracing_interval_ms"),
    ] {
        if let Some(value) = set(name) {
            options.insert(option.to_owned(), number(name, &value)?.into());
        }
    }
    Ok(options)
}

fn number(name: &str, value: &str) -> Result<u64, ConfigError> {
    value.trim().parse().map_err(|_| {
        let message = format!("the variable {name} must be a whole number");
        wrong("tracing_endpoint", message)
    })
}

/// The ratio chosen by the sampler's variables.
fn ratio(set: impl Fn(&str) -> Option<String>) -> Result<Option<f64>, ConfigError> {
    let Some(sampler) = set("OTEL_TRACES_SAMPLER") else {
        return Ok(None);
    };
    match sampler.trim().trim_start_matches("parentbased_") {
        "always_on" => Ok(Some(1.0)),
        "always_off" => Ok(Some(0.0)),
        "traceidratio" => {
            let ratio = set("OTEL_TRACES_SAMPLER_ARG").map_or(Ok(1.0), |text| text.trim().parse());
            ratio.map(Some).map_err(|_| {
                let message = "the variable OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1";
                wrong("tracing_sample_ratio", message)
            })
        }
        other => Err(wrong(
            "tracing_sample_ratio",
            format!("the variable OTEL_TRACES_SAMPLER names {other:?}, which is not supported"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        let set: Vec<(String, String)> = set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        move |name| {
            let found = set.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        }
    }

    #[test]
    fn the_variables_set_options_and_the_one_for_traces_goes_first() {
        assert!(options(environment(&[])).unwrap().is_empty());
        let general = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");
        let read = |set: &[(&str, &str)]| options(environment(set)).unwrap();
        let found = read(&[
            general,
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a=1, b=2"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "4096"),
            ("OTEL_SERVICE_NAME", ""),
        ]);
        assert_eq!(
            found["tracing_endpoint"],
            "http://collector:4318/v1/traces".into()
        );
        assert_eq!(found["tracing_sample_ratio"], 0.25.into());
        assert_eq!(found["tracing_timeout_s"], 2u64.into());
        assert_eq!(found["tracing_queue_max"], 4096u64.into());
        let attributes: Vec<Value> = vec!["a=1".into(), "b=2".into()];
        assert_eq!(found["tracing_attributes"], attributes.into());
        assert!(!found.contains_key("tracing_service_name"));
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces:1/x");
        assert_eq!(
            read(&[general, traces])["tracing_endpoint"],
            "http://traces:1/x".into()
        );
        assert_eq!(
            read(&[("OTEL_TRACES_SAMPLER", "always_on")])["tracing_sample_ratio"],
            1.0.into()
        );
    }

    #[test]
    fn what_cannot_be_followed_is_refused_and_off_is_off() {
        for set in [
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ] {
            assert!(options(environment(&[set])).is_err(), "{set:?}");
        }
        assert!(is_disabled(environment(&[("OTEL_SDK_DISABLED", "TRUE")])));
        assert!(is_disabled(environment(&[(
            "OTEL_TRACES_EXPORTER",
            "none"
        )])));
        assert!(!is_disabled(environment(&[(
            "OTEL_TRACES_EXPORTER",
            "otlp"
        )])));
    }
}
