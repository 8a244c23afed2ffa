//! Signed texts of a registration: its body holds a secret, so its digest is signed and the body is not kept.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::{
    BLIND_BYTES_MIN, EMAIL_BYTES_MAX, PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN,
};
use kedge_protocol::payload::digest_text;
use kedge_protocol::{Address, Id};
use kedge_rules::registration::RegistrationRecord;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{SignedActionText, names};
use crate::auth::code::InvitationCodes;
use crate::auth::password;
use crate::body;
use crate::error::{ApiError, ApiResult};
use crate::scalars::{AddressInput, NameInput, OrganizationId};

/// Base64 with padding, of at least 16 bytes; unused bits are zero.
pub(super) const BLIND_PATTERN: &str = "^([A-Za-z0-9+/]{4}){5,}(\
    [A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/]{4})$";

/// The body of a registration.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterBody {
    /// The e-mail address for logging in.
    #[schemars(extend("format" = "email"), length(max = EMAIL_BYTES_MAX))]
    email: String,
    /// At least 15 characters, at most 1,024 bytes.
    #[schemars(length(min = PASSWORD_CHARS_MIN, max = PASSWORD_BYTES_MAX))]
    pub password: String,
    /// A name to show.
    #[schemars(with = "Option<NameInput>")]
    nickname: Option<String>,
    /// The address that signs this request, and signs for the wallet from now on.
    #[schemars(with = "AddressInput")]
    address: Address,
    /// The organization to join; this needs the code of an invitation.
    #[schemars(with = "Option<OrganizationId>")]
    pub organization_id: Option<Id>,
    /// The code of an invitation, as shown to an admin of the organization.
    pub invitation: Option<String>,
    /// The name of the organization that is created.
    #[schemars(with = "Option<NameInput>")]
    organization_name: Option<String>,
    /// Base64 of at least 16 random bytes: keeps the signed digest from revealing the password.
    #[schemars(with = "String", regex(pattern = BLIND_PATTERN), required)]
    blind: Option<String>,
}

impl RegisterBody {
    /// The checks that are slower than the signature check.
    pub fn check_password(&self) -> ApiResult<()> {
        let names = [Some(self.email.as_str()), self.nickname.as_deref()];
        password::check_guessed(&self.password, names.into_iter().flatten())
    }
}

fn forbidden(message: &'static str) -> ApiError {
    ApiError::new(Code::Forbidden, message)
}

/// Checks the member that keeps a signed digest from revealing the secrets in the body.
pub(super) fn check_blind(blind: Option<&str>) -> ApiResult<()> {
    let blind = blind.ok_or_else(|| {
        ApiError::field("/blind", "required", "is required: base64 of random bytes")
    })?;
    let blind_bytes = STANDARD.decode(blind).map_or(0, |bytes| bytes.len());
    if blind_bytes < BLIND_BYTES_MIN {
        let message = format!("must be base64 of at least {BLIND_BYTES_MIN} random bytes");
        return Err(ApiError::field("/blind", "range", message));
    }
    Ok(())
}

/// The text and action of a registration: the digest of its body, and its disclosable part.
pub(super) fn read(
    raw: &str,
    invitations: &InvitationCodes,
) -> ApiResult<(String, SignedActionText)> {
    let registration: RegisterBody = body::parse(raw)?;
    check_blind(registration.blind.as_deref())?;
    password::check_length(&registration.password)?;
    let invitation = match &registration.invitation {
        Some(code) => Some(invitations.open(code).ok_or_else(|| {
            forbidden("the invitation's code was not issued by this service; ask for it again")
        })?),
        None if registration.organization_id.is_some() => {
            return Err(forbidden(
                "joining an organization requires an invitation from one of its admins",
            ));
        }
        None => None,
    };
    if invitation.is_some() && registration.organization_name.is_some() {
        let message = "is only for a new organization, but the invitation is to an existing one";
        return Err(ApiError::field("/organization_name", "range", message));
    }
    let disclosed = RegistrationRecord {
        email: names::registered(registration.email)?,
        nickname: registration.nickname,
        address: registration.address,
        organization_name: registration.organization_name,
        invitation,
    };
    let mut text = digest_text(&sha256(raw.as_bytes()));
    let payload = 0..text.len();
    let disclosed =
        serde_json::to_string(&disclosed).map_err(|error| ApiError::internal(&error))?;
    text.push_str(&disclosed);
    let action = SignedActionText {
        kind: Kind::WalletRegister,
        target: 0..0,
        disclosed: Some(payload.end..text.len()),
        payload,
    };
    Ok((text, action))
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use crate::error::ErrorDetail;

    use super::*;
    use crate::auth::code::MacKey;

    fn codes() -> InvitationCodes {
        InvitationCodes::new(MacKey::new([1; 32]))
    }

    fn body(password: &str, more: &str) -> String {
        format!(
            r#"{{"email": "a@b.example", "password": "{password}",
            "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"{more}}}"#
        )
    }

    #[test]
    fn secrets_stay_out_of_the_text() {
        let blind = STANDARD.encode([7; 16]);
        let raw = body("a long enough secret", &format!(r#", "blind": "{blind}""#));
        let (text, action) = read(&raw, &codes()).unwrap();
        assert_eq!(&text[action.payload], digest_text(&sha256(raw.as_bytes())));
        assert!(!text.contains("secret") && !text.contains(&blind));
        let disclosed = &text[action.disclosed.unwrap()];
        let reported: RegistrationRecord = serde_json::from_str(disclosed).unwrap();
        assert_eq!(reported.email, "a@b.example");
    }

    #[test]
    fn what_is_missing_is_pointed_at() {
        let blind = format!(r#", "blind": "{}""#, STANDARD.encode([7; 16]));
        let short = format!(r#", "blind": "{}""#, STANDARD.encode([7; 15]));
        let cases = [
            (body("a long enough secret", ""), "/blind"),
            (body("a long enough secret", &short), "/blind"),
            (body("too short", &blind), "/password"),
            (
                body("a long enough secret", &format!(r#"{blind}, "role": 1"#)),
                "/role",
            ),
        ];
        for (raw, pointer) in cases {
            let error = read(&raw, &codes()).unwrap_err();
            let ErrorDetail::Fields(fields) = &error.detail else {
                panic!("{error:?}")
            };
            assert_eq!(fields[0].pointer, pointer);
        }
    }

    #[test]
    fn joining_takes_a_code_of_this_service() {
        let blind = format!(r#", "blind": "{}""#, STANDARD.encode([7; 16]));
        let organization = Id {
            prefix: Prefix::Organization,
            bytes: [1; 16],
        };
        let invitation = Id {
            prefix: Prefix::Action,
            bytes: [2; 16],
        };
        let joining = format!(r#"{blind}, "organization_id": "{organization}""#);
        let with = |more: &str| {
            read(
                &body("a long enough secret", &format!("{joining}{more}")),
                &codes(),
            )
        };
        let code = codes().of(invitation);
        let foreign = InvitationCodes::new(MacKey::new([2; 32])).of(invitation);
        for bad in [String::new(), format!(r#", "invitation": "{foreign}""#)] {
            assert_eq!(with(&bad).unwrap_err().code, Code::Forbidden, "{bad}");
        }
        let (text, action) = with(&format!(r#", "invitation": "{code}""#)).unwrap();
        let reported: RegistrationRecord =
            serde_json::from_str(&text[action.disclosed.unwrap()]).unwrap();
        assert_eq!(reported.invitation, Some(invitation));
        assert!(!text.contains(&code));
        let named = with(&format!(
            r#", "invitation": "{code}", "organization_name": "n""#
        ));
        assert_eq!(named.unwrap_err().code, Code::ValidationError);
    }
}
