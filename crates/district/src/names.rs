//! Plausible names of fictitious people and places; surnames and place names are put together from
//! parts.

use crate::random::Draw;

const GIRLS: [&str; 32] = [
    "Ada", "Alma", "Bea", "Carla", "Celia", "Dana", "Dora", "Edith", "Elena", "Fatima", "Flora",
    "Grace", "Hana", "Ines", "Iris", "Jana", "Kira", "Lena", "Lina", "Mara", "Mei", "Mina",
    "Nadia", "Nora", "Olga", "Paula", "Rosa", "Sana", "Tala", "Una", "Vera", "Zoe",
];
const BOYS: [&str; 32] = [
    "Aaron", "Adam", "Amir", "Anton", "Ben", "Bruno", "Carl", "Dario", "David", "Emil", "Enzo",
    "Felix", "Goran", "Hugo", "Ivan", "Jonas", "Karim", "Leo", "Luis", "Marco", "Milo", "Nico",
    "Noah", "Omar", "Oscar", "Pablo", "Ravi", "Samir", "Theo", "Tomas", "Victor", "Yusuf",
];
const STEMS: [&str; 32] = [
    "Alder", "Amber", "Ash", "Aspen", "Birch", "Briar", "Cedar", "Clover", "Copper", "Crane",
    "Elder", "Fern", "Flint", "Hazel", "Heron", "Holly", "Iron", "Juniper", "Lark", "Linden",
    "Maple", "Moss", "Oak", "Otter", "Pine", "Raven", "Reed", "River", "Robin", "Sage", "Thistle",
    "Willow",
];
const SURNAME_ENDINGS: [&str; 24] = [
    "bank", "bloom", "bough", "bourne", "bridge", "brook", "cliff", "combe", "croft", "dale",
    "dell", "fell", "field", "ford", "gate", "glen", "grove", "hollow", "hurst", "mere", "shaw",
    "stone", "wick", "worth",
];
const PLACE_ENDINGS: [&str; 16] = [
    " Bay",
    " Bend",
    " Bluff",
    " Canyon",
    " Creek",
    " Crossing",
    " Falls",
    " Flats",
    " Hill",
    " Hollow",
    " Lake",
    " Meadow",
    " Mesa",
    " Point",
    " Ridge",
    " Valley",
];
const STREET_ENDINGS: [&str; 6] = [" Avenue", " Court", " Drive", " Lane", " Street", " Way"];

/// A name of two parts, written without a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Compound(&'static str, &'static str);

impl std::fmt::Display for Compound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)?;
        f.write_str(self.1)
    }
}

/// Draws a first name.
pub(crate) fn first_name(draw: &mut Draw, female: bool) -> &'static str {
    draw.pick(if female { &GIRLS } else { &BOYS })
}

/// Draws a surname.
pub(crate) fn surname(draw: &mut Draw) -> Compound {
    Compound(draw.pick(&STEMS), draw.pick(&SURNAME_ENDINGS))
}

/// Returns the name of a place; numbers below [`PLACES`] have different names.
pub(crate) fn place(number: usize) -> Compound {
    let stem = number % STEMS.len();
    let ending = (number / STEMS.len() + stem) % PLACE_ENDINGS.len();
    Compound(STEMS[stem], PLACE_ENDINGS[ending])
}

/// Number of different place names.
pub(crate) const PLACES: usize = STEMS.len() * PLACE_ENDINGS.len();

/// A street and a house number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Street(usize, Compound);

/// Draws a street and a house number.
pub(crate) fn street(draw: &mut Draw) -> Street {
    let number = draw.between(1, 9999);
    Street(number, Compound(draw.pick(&STEMS), draw.pick(&STREET_ENDINGS)))
}

impl std::fmt::Display for Street {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

/// A telephone number from the range reserved for fiction, 555-0100 to 555-0199.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telephone(usize, usize);

/// Draws a telephone number.
pub(crate) fn telephone(draw: &mut Draw) -> Telephone {
    Telephone(draw.between(201, 989), draw.below(100))
}

impl std::fmt::Display for Telephone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}) 555-01{:02}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_number_has_its_own_place_name() {
        let places: HashSet<String> = (0..PLACES).map(|number| place(number).to_string()).collect();

        assert_eq!(places.len(), PLACES);
    }
}
