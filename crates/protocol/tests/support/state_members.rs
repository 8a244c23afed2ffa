//! The actions of the model log on wallets and organizations.

use kedge_protocol::resource::Role;
use kedge_protocol::state::entry::{EntryFields, WalletEntry};
use kedge_protocol::{Address, Id, Prefix};

use super::{ModelLog, ModelRequest, address};

const ROLES: [Role; 3] = [Role::Owner, Role::Admin, Role::Member];

impl ModelLog {
    /// Registers a wallet: with a new organization, or as a member of the one that invited it.
    pub(super) fn register(&mut self, invited: Option<(usize, Role)>) {
        // An operator may have a wallet, too.
        let is_operators = self.dice.below(16) == 0 && !self.belongs(&self.operator);
        let signer = if is_operators {
            self.operator
        } else {
            address(&mut self.dice)
        };
        let place = self.resources.len();
        let request = ModelRequest {
            kind: "wallet.register",
            target: "",
            payload: "sha-256=:a digest:",
            by: (Some(place), signer),
        };
        let content = self.put(&request, None, None);
        let made = Id::made_by(Prefix::Organization, &content, 1);
        let id = Id::made_by(Prefix::Wallet, &content, 0);
        let fields = WalletEntry {
            organization_id: invited.map_or(made, |(place, _)| self.id(place)),
            address: signer,
            role: invited.map_or(Role::Owner, |(_, role)| role),
            keys: vec![signer],
        };
        let place = self.enter(id, &content, 0, EntryFields::Wallet(fields));
        self.resources[place].addresses.push(signer);
        if invited.is_none() {
            self.enter(made, &content, 1, EntryFields::Organization {});
        }
    }

    /// Uses an invitation.
    pub(super) fn join(&mut self) {
        if self.invitations.is_empty() {
            return self.act_on_organization();
        }
        let used = self.dice.below(self.invitations.len());
        let invitation = self.invitations.swap_remove(used);
        self.register(Some(invitation));
    }

    fn belongs(&self, address: &Address) -> bool {
        let wallets = self.of_prefix(Prefix::Wallet).iter();
        wallets
            .map(|place| &self.resources[*place])
            .any(|wallet| wallet.addresses.contains(address))
    }

    pub(super) fn act_on_wallet(&mut self) {
        let Some((place, signer)) = self.signer(|_, _| true) else {
            return;
        };
        let target = self.id(place).to_string();
        let request = |kind, payload| ModelRequest {
            kind,
            target: &target,
            payload,
            by: (Some(place), signer),
        };
        let mut keys = self.wallet(place).keys.clone();
        match self.dice.below(5) {
            0 => {
                self.put(&request("wallet.update", "{}"), Some(place), None);
            }
            1 | 2 if keys.len() > 1 => {
                // A key may remove itself.
                let gone = self.dice.below(keys.len());
                let payload = format!("{{\"address\":\"{}\"}}", keys.remove(gone));
                self.put(&request("wallet.key_remove", &payload), Some(place), None);
            }
            _ => {
                let key = self.further_key(place);
                let payload = format!("{{\"address\":\"{key}\"}}");
                keys.push(key);
                keys.sort_unstable();
                self.put(&request("wallet.key_add", &payload), Some(place), None);
            }
        }
        self.wallet_mut(place).keys = keys;
    }

    /// A new key of a wallet, or one that it had before.
    fn further_key(&mut self, place: usize) -> Address {
        let keys = &self.wallet(place).keys;
        let earlier = self.resources[place].addresses.iter().copied();
        let earlier: Vec<Address> = earlier.filter(|key| !keys.contains(key)).collect();
        if self.dice.below(2) == 0
            && let Some(returning) = self.pick(&earlier)
        {
            return returning;
        }
        let key = address(&mut self.dice);
        self.resources[place].addresses.push(key);
        key
    }

    /// A role that an owner may give, or an admin.
    fn role(&mut self, by_owner: bool) -> Role {
        let given = if by_owner { &ROLES[..] } else { &ROLES[1..] };
        given[self.dice.below(given.len())]
    }

    pub(super) fn act_on_organization(&mut self) {
        let Some(place) = self.any(Prefix::Organization) else {
            return;
        };
        let id = self.id(place);
        let Some((actor, signer)) = self.admin(id) else {
            return;
        };
        let is_owner = self.wallet(actor).role == Role::Owner;
        let member = self.signer(|other, wallet| {
            let is_touchable = is_owner || wallet.role != Role::Owner;
            wallet.organization_id == id && other != actor && is_touchable
        });
        let target = id.to_string();
        let request = |kind, payload| ModelRequest {
            kind,
            target: &target,
            payload,
            by: (Some(actor), signer),
        };
        let invited = self.invitations.iter().position(|(by, _)| *by == place);
        match (self.dice.below(6), member, invited) {
            (0 | 1, Some((member, _)), _) if self.wallet(member).role != Role::Owner => {
                let gone = self.id(member);
                let payload = removal(&gone, self.dice.below(4));
                self.put(
                    &request("org.member_remove", &payload),
                    Some(place),
                    Some(gone),
                );
                self.wallet_mut(member).keys.clear();
            }
            (1 | 2, Some((member, _)), _) => {
                let role = self.role(is_owner);
                self.put(&request("org.role", "{}"), Some(place), None);
                self.wallet_mut(member).role = role;
            }
            (3, _, Some(revoked)) => {
                self.invitations.swap_remove(revoked);
                self.put(&request("org.invitation_revoke", "{}"), Some(place), None);
            }
            _ => {
                let role = self.role(is_owner);
                self.invitations.push((place, role));
                self.put(&request("org.invite", "{}"), Some(place), None);
            }
        }
    }
}

/// The payload that removes a member: three times of four exactly as the fault of a ghost member reads it.
fn removal(member: &Id, spelling: usize) -> String {
    let space = if spelling == 0 { " " } else { "" };
    format!("{{{space}\"wallet_id\":\"{member}\"}}")
}
