//! Reads model file text into a [`Source`].

use super::error::FormatError;
use crate::source::{
    ExtensionPart, ExtensionSource, KeyMap, PartSource, Presence, PropertySource, ResourceKind,
    ResourceSource, Source, SubjectSource, Type,
};

/// Deepest nesting of objects and collections that a file may have.
const DEPTH_MAX: usize = 8;

/// Most digits of a decimal: as many as fit the 128 bits that tables use for it.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// Reads a model file.
///
/// # Errors
///
/// Returns the first line that does not fit the grammar.
pub fn read(text: &str) -> Result<Source, FormatError> {
    let mut reader = Reader {
        lines: text
            .lines()
            .enumerate()
            .map(|(at, line)| Line::of(at + 1, line))
            .filter(|line| !line.text.is_empty() && !line.text.starts_with('#'))
            .collect(),
        next: 0,
    };
    let mut source = Source::default();
    while let Some(line) = reader.take_at(0)? {
        let (word, rest) = split_word(line.text);
        match word {
            "standard" => {
                let [project, schema, version] = words(rest)[..] else {
                    return Err(line.wrong("expected `standard PROJECT SCHEMA VERSION`"));
                };
                (source.project, source.schema, source.version) =
                    (project.into(), schema.into(), version.into());
            }
            "extends" => {
                let [schema, version] = words(rest)[..] else {
                    return Err(
                        line.wrong("expected `extends SCHEMA VERSION`, `extends ed-fi 5.2.0`")
                    );
                };
                source.extends = Some((schema.into(), version.into()));
            }
            "school-years" => source.school_years = years(line, rest)?,
            "descriptors" => source.descriptor = Some(reader.resource(line, word, rest)?),
            "abstract" | "descriptor" | "resource" | "enumeration" => {
                let resource = reader.resource(line, word, rest)?;
                source.resources.push(resource);
            }
            "extension" => {
                let extension = reader.extension(line, rest)?;
                source.extensions.push(extension);
            }
            other => return Err(line.wrong(format!("`{other}` is not a section of a model file"))),
        }
    }
    if source.schema.is_empty() {
        return Err(FormatError {
            line: 1,
            message: "the file needs a line `standard PROJECT SCHEMA VERSION`".into(),
        });
    }
    Ok(source)
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    depth: Option<usize>,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn of(number: usize, raw: &'a str) -> Self {
        let text = raw.trim_start_matches(' ');
        let indent = raw.len() - text.len();
        let depth = indent.is_multiple_of(2).then_some(indent / 2);
        Self { number, depth, text: text.trim_end() }
    }

    fn wrong(&self, message: impl Into<String>) -> FormatError {
        FormatError { line: self.number, message: message.into() }
    }
}

struct Reader<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
}

impl<'a> Reader<'a> {
    /// Takes the next line if it is at `depth`; leaves a shallower one to the caller.
    fn take_at(&mut self, depth: usize) -> Result<Option<Line<'a>>, FormatError> {
        let Some(line) = self.lines.get(self.next).copied() else { return Ok(None) };
        match line.depth {
            Some(found) if found == depth => {
                self.next += 1;
                Ok(Some(line))
            }
            Some(found) if found < depth => Ok(None),
            _ => Err(line.wrong("the indentation matches no owner; a level is two spaces")),
        }
    }

    fn resource(
        &mut self,
        header: Line<'a>,
        word: &str,
        rest: &str,
    ) -> Result<ResourceSource, FormatError> {
        let kind = match word {
            "abstract" => ResourceKind::Abstract,
            "descriptor" | "descriptors" => ResourceKind::Descriptor,
            "enumeration" => ResourceKind::Enumeration,
            _ => ResourceKind::Entity,
        };
        let (name, endpoint) = match (kind, &words(rest)[..]) {
            (_, []) if word == "descriptors" => ("", ""),
            (ResourceKind::Abstract, [name]) => (*name, ""),
            (ResourceKind::Abstract, _) => return Err(header.wrong("expected `abstract NAME`")),
            (_, [name, endpoint]) => (*name, *endpoint),
            _ => return Err(header.wrong(format!("expected `{word} NAME ENDPOINT`"))),
        };
        let mut resource = ResourceSource {
            kind,
            name: name.into(),
            endpoint: endpoint.into(),
            base: None,
            updatable_key: false,
            domains: vec![],
            interchanges: vec![],
            element: None,
            ignored_elements: vec![],
            subjects: vec![],
            access_through: vec![],
            access_by: vec![],
            unified: vec![],
            properties: vec![],
        };
        while let Some(line) = self.take_at(1)? {
            let (word, rest) = split_word(line.text);
            let list = || words(rest).into_iter().map(String::from).collect::<Vec<_>>();
            match word {
                "@" | "!" | "?" => {
                    let property = self.property(line, 1)?;
                    resource.properties.push(property);
                }
                "base" => resource.base = Some(base(line, rest)?),
                "key-updatable" => resource.updatable_key = true,
                "domains" => resource.domains = list(),
                "interchanges" => resource.interchanges = list(),
                "element" => resource.element = Some(rest.into()),
                "ignored-elements" => resource.ignored_elements = list(),
                "access-through" => resource.access_through = list(),
                "access-by" => match &list()[..] {
                    [name, through @ ..] if !through.is_empty() => {
                        resource.access_by.push((name.clone(), through.to_vec()));
                    }
                    _ => return Err(line.wrong("expected `access-by NAME ASSOCIATION …`")),
                },
                "unified" => resource.unified.push(list()),
                "subject" => match words(rest)[..] {
                    [kind, column] => resource
                        .subjects
                        .push(SubjectSource { kind: kind.into(), column: column.into() }),
                    _ => return Err(line.wrong("expected `subject KIND COLUMN`")),
                },
                other => {
                    return Err(line.wrong(format!(
                        "`{other}` is not an attribute of a resource; a property begins with @, ! or ?"
                    )));
                }
            }
        }
        Ok(resource)
    }

    fn extension(&mut self, header: Line<'a>, rest: &str) -> Result<ExtensionSource, FormatError> {
        let [target] = words(rest)[..] else {
            return Err(header.wrong("expected `extension RESOURCE`"));
        };
        let mut extension = ExtensionSource {
            target: target.into(),
            required: false,
            unified: vec![],
            parts: vec![],
        };
        let mut root = vec![];
        while let Some(line) = self.take_at(1)? {
            let (word, rest) = split_word(line.text);
            match word {
                "@" | "!" | "?" => root.push(self.property(line, 1)?),
                "required" => extension.required = true,
                "unified" => {
                    extension.unified.push(words(rest).into_iter().map(String::from).collect());
                }
                "in" => {
                    let [within] = words(rest)[..] else {
                        return Err(line.wrong("expected `in PATH`, `in addresses`"));
                    };
                    let properties = self.properties(2)?;
                    extension.parts.push(ExtensionPart { within: within.into(), properties });
                }
                other => {
                    return Err(line.wrong(format!(
                        "`{other}` is not an attribute of an extension; there are required, unified and \
                         in, and a property begins with ! or ?"
                    )));
                }
            }
        }
        if !root.is_empty() {
            let part = ExtensionPart { within: String::new(), properties: root };
            extension.parts.insert(0, part);
        }
        if extension.parts.iter().all(|part| part.properties.is_empty()) {
            return Err(header.wrong("it adds nothing"));
        }
        Ok(extension)
    }

    fn property(&mut self, line: Line<'a>, depth: usize) -> Result<PropertySource, FormatError> {
        if depth > DEPTH_MAX {
            return Err(line.wrong(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let (mark, rest) = split_word(line.text);
        let presence = match mark {
            "@" => Presence::Key,
            "!" => Presence::Required,
            "?" => Presence::Optional,
            _ => return Err(line.wrong("a property begins with @, ! or ?")),
        };
        let (name, rest) = split_word(rest);
        let (rest, xml) = match rest.strip_suffix('>').and_then(|r| r.rsplit_once('<')) {
            Some((rest, path)) => (rest.trim_end(), Some(path.to_owned())),
            None => (rest, None),
        };
        let kind = match rest {
            "{}" => Type::Object(self.properties(depth + 1)?),
            "[]" => Type::List(self.properties(depth + 1)?),
            other => scalar_or_reference(line, other)?,
        };
        Ok(PropertySource { name: name.into(), presence, kind, xml })
    }

    fn properties(&mut self, depth: usize) -> Result<Vec<PropertySource>, FormatError> {
        let mut properties = vec![];
        while let Some(line) = self.take_at(depth)? {
            properties.push(self.property(line, depth)?);
        }
        Ok(properties)
    }
}

fn scalar_or_reference(line: Line<'_>, text: &str) -> Result<Type, FormatError> {
    if let Some(rest) = text.strip_prefix("-> ") {
        let (target, parts) = rest
            .strip_suffix(')')
            .and_then(|r| r.split_once('('))
            .ok_or_else(|| line.wrong("expected `-> TARGET(part, part as column)`"))?;
        let parts = parts.split(',').map(|part| reference_part(part.trim())).collect();
        return Ok(Type::Reference { target: target.into(), parts });
    }
    if let Some(name) = text.strip_prefix("descriptor ") {
        return Ok(Type::Descriptor(name.into()));
    }
    let (word, arguments) = match text.split_once('(') {
        Some((word, rest)) => {
            let rest = rest.strip_suffix(')').ok_or_else(|| line.wrong("`)` is missing"))?;
            (word, Some(rest))
        }
        None => (text, None),
    };
    let bound = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let range = |text: &str| -> Result<(Option<String>, Option<String>), FormatError> {
        let (min, max) = text.split_once("..").ok_or_else(|| line.wrong("expected `min..max`"))?;
        Ok((bound(min.trim()), bound(max.trim())))
    };
    let number = |text: &str| -> Result<u32, FormatError> {
        text.trim().parse().map_err(|_| line.wrong(format!("`{text}` is not a number")))
    };
    match (word, arguments) {
        ("boolean", None) => Ok(Type::Boolean),
        ("date", None) => Ok(Type::Date),
        ("datetime", None) => Ok(Type::DateTime),
        ("time", None) => Ok(Type::Time),
        ("text", Some(arguments)) => {
            let (min, max) = range(arguments)?;
            Ok(Type::Text {
                min: min.as_deref().map(number).transpose()?.unwrap_or(0),
                max: max.as_deref().map(number).transpose()?,
            })
        }
        ("int32" | "int64", arguments) => {
            let bits = if word == "int32" { 32 } else { 64 };
            let (min, max) = arguments.map(range).transpose()?.unwrap_or((None, None));
            Ok(Type::Integer { bits, min, max })
        }
        ("decimal", Some(arguments)) => {
            let (digits, bounds) = arguments.split_once(';').unwrap_or((arguments, ".."));
            let (precision, scale) = digits
                .split_once(',')
                .ok_or_else(|| line.wrong("expected `decimal(precision,scale)`"))?;
            let (min, max) = range(bounds.trim())?;
            let digits = |text: &str| {
                let digits = u8::try_from(number(text)?).ok();
                digits.filter(|digits| *digits <= DECIMAL_DIGITS_MAX).ok_or_else(|| {
                    line.wrong(format!("a decimal has at most {DECIMAL_DIGITS_MAX} digits"))
                })
            };
            let (precision, scale) = (digits(precision)?, digits(scale)?);
            if scale > precision {
                return Err(line.wrong(format!(
                    "{precision} digits in all cannot have {scale} of them after the point"
                )));
            }
            Ok(Type::Decimal { precision, scale, min, max })
        }
        _ => Err(line.wrong(format!("`{text}` is not a type of a model file"))),
    }
}

fn reference_part(text: &str) -> PartSource {
    let (member, column) = match text.split_once(" as ") {
        Some((member, column)) => (member.trim(), Some(column.trim().to_owned())),
        None => (text, None),
    };
    let (name, key) = match member.split_once('=') {
        Some((name, key)) => (name, Some(key.to_owned())),
        None => (member, None),
    };
    PartSource { name: name.into(), key, column }
}

fn base(line: Line<'_>, rest: &str) -> Result<(String, Vec<KeyMap>), FormatError> {
    let mut all = words(rest).into_iter();
    let name = all.next().ok_or_else(|| line.wrong("expected `base NAME base=own …`"))?;
    let map = all
        .map(|pair| {
            let (base, own) = pair
                .split_once('=')
                .ok_or_else(|| line.wrong(format!("`{pair}`: expected `base=own`")))?;
            Ok(KeyMap { base: base.into(), own: own.into() })
        })
        .collect::<Result<_, FormatError>>()?;
    Ok((name.into(), map))
}

fn years(line: Line<'_>, rest: &str) -> Result<Vec<u16>, FormatError> {
    let wrong = || line.wrong("expected `school-years FIRST..LAST`");
    let (first, last) = rest.split_once("..").ok_or_else(wrong)?;
    let first: u16 = first.parse().map_err(|_| wrong())?;
    let last: u16 = last.parse().map_err(|_| wrong())?;
    Ok((first..=last).collect())
}

fn split_word(text: &str) -> (&str, &str) {
    match text.split_once(' ') {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}
