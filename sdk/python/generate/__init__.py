"""Makes `kedge.generated` from the service's document."""
