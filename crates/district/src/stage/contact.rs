//! Addresses and telephones, which people and organizations have.

use std::fmt::Display;

use crate::json::Object;
use crate::layout::District;
use crate::names::{Street, Telephone};

/// Writes the members of an address.
pub(super) fn address(o: &mut Object<'_>, district: &District, code: &str, street: Street) {
    o.descriptor("addressTypeDescriptor", "AddressTypeDescriptor", code);
    o.text("streetNumberName", street);
    o.text("city", district.place);
    o.descriptor("stateAbbreviationDescriptor", "StateAbbreviationDescriptor", "AA");
    o.text("postalCode", POSTAL_CODE);
}

/// Writes the members of a telephone.
pub(super) fn telephone(o: &mut Object<'_>, code: impl Display, number: Telephone) {
    o.descriptor("telephoneNumberTypeDescriptor", "TelephoneNumberTypeDescriptor", code);
    o.text("telephoneNumber", number);
}

/// Postal code of every address; it belongs to US military mail abroad, as does the state.
const POSTAL_CODE: &str = "34099";
