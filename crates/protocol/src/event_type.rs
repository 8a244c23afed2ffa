//! Types of events.

use core::fmt;

macro_rules! event_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// Type of an event. The numbers are permanent: they are stored.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum EventType { $($(#[$doc])* $name),* }

        impl EventType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The type's text.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The type with this text.
            pub fn of_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }

            /// The permanent number.
            pub const fn number(self) -> u8 {
                match self { $(Self::$name => $number),* }
            }

            /// The type with this permanent number.
            pub const fn of_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

event_types! {
    /// An object was minted.
    ObjectCreated = 1, "object.created";
    /// An object's properties were changed.
    ObjectUpdated = 2, "object.updated";
    /// An object was transferred to another wallet.
    ObjectTransferred = 3, "object.transferred";
    /// An object was locked.
    ObjectLocked = 4, "object.locked";
    /// An object was unlocked.
    ObjectUnlocked = 5, "object.unlocked";
    /// An object was burned.
    ObjectBurned = 6, "object.burned";
    /// A template was created.
    TemplateCreated = 7, "template.created";
    /// A variation was created: one event for each.
    VariationCreated = 8, "variation.created";
    /// A wallet was registered.
    WalletRegistered = 9, "wallet.registered";
    /// A file was stored.
    FileCreated = 10, "file.created";
    /// An action without its own event type was done.
    ActionExecuted = 11, "action.executed";
    /// An action was refused; it is not in the log.
    ActionFailed = 12, "action.failed";
    /// A batch was sealed.
    BatchSealed = 13, "batch.sealed";
    /// A block holds the anchor of batches.
    BatchAnchored = 14, "batch.anchored";
    /// An anchor can no longer leave the chain.
    AnchorConfirmed = 15, "anchor.confirmed";
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
