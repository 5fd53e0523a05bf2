//! Tests each rule by which elements become a document, with the shipped model.

use std::fs::File;
use std::sync::Arc;

use homeroom_document::json::Json;
use homeroom_document::{Catalog, Documents};
use homeroom_store::Store;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::levels::Levels;
use crate::place::Malformed;
use crate::target::Target;
use crate::tests::Folder;

/// The outcome of reading a record.
#[derive(Debug)]
struct Read {
    json: Value,
    flaws: Vec<(String, String)>,
    strays: Vec<String>,
    line: u64,
}

/// The values needed to read a file.
struct Bench {
    target: Documents,
    levels: Levels,
}

impl Bench {
    fn new() -> Self {
        let store = Store::temporary(&[]).unwrap();
        let catalog = Catalog::bind(Arc::new(crate::tests::model()), &store).unwrap();
        let levels = Levels::of_model(&catalog.model, &[]).unwrap();
        Self { target: Documents { catalog: Arc::new(catalog), store }, levels }
    }
}

/// Reads all records of a file, level by level, and then each of them again.
fn read_file(bench: &Bench, bytes: &[u8]) -> Result<Vec<Read>, Malformed> {
    let Bench { target, levels } = bench;
    let folder = Folder::new();
    let path = folder.write("file.xml", bytes);
    let model = &target.catalog.model;
    let shapes = Shapes::of(model);
    let lookups = Lookups::new(Target::store(target), &shapes);
    let survey = survey(&File::open(&path).unwrap(), 0, &shapes, levels)?;
    let file = XmlFile::new(model, &shapes, &path, 0, &survey);
    let (mut found, mut places) = (vec![], vec![]);
    for run in survey.runs.iter().copied() {
        let is_wanted = |id| levels.of(id) == run.level;
        file.each(run, &is_wanted, Some(&lookups), &mut |record| {
            places.push((record.at, to_serde(&record.json)));
            found.push(Read {
                json: to_serde(&record.json),
                flaws: record.flaws.into_iter().map(|flaw| (flaw.path, flaw.message)).collect(),
                strays: record.strays,
                line: record.at.line,
            });
            Ok(())
        })
        .unwrap();
    }
    for (at, json) in places {
        let again = file.at(at, &lookups, |again| (again.at, to_serde(&again.json))).unwrap();
        assert_eq!(again, (at, json));
    }
    Ok(found)
}

fn read_all(records: &str) -> Vec<Read> {
    let xml = format!("<InterchangeX xmlns='http://ed-fi.org/5.2.0'>{records}</InterchangeX>");
    read_file(&Bench::new(), xml.as_bytes()).unwrap()
}

/// Reads a file with one record, which must have no flaws, and returns its document.
fn document(record: &str) -> Value {
    let mut all = read_all(record);
    assert_eq!(all.len(), 1, "{all:?}");
    let read = all.remove(0);
    assert_eq!((read.flaws.len(), read.strays.len()), (0, 0), "{read:?}");
    read.json
}

fn to_serde(json: &Json<'_>) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Boolean(value) => (*value).into(),
        Json::Number(text) => serde_json::from_str(text).unwrap(),
        Json::Text(text) => text.as_ref().into(),
        Json::Array(items) => items.iter().map(to_serde).collect(),
        Json::Object(members) => {
            members.iter().map(|(name, value)| (name.to_string(), to_serde(value))).collect()
        }
    }
}

#[test]
fn a_reference_is_flattened_and_a_school_year_is_its_second_year() {
    let section = document(
        "<Section><SectionIdentifier>1</SectionIdentifier><CourseOfferingReference>\
         <CourseOfferingIdentity><LocalCourseCode>ALG</LocalCourseCode><SchoolReference>\
         <SchoolIdentity><SchoolId>7</SchoolId></SchoolIdentity></SchoolReference>\
         <SessionReference><SessionIdentity><SchoolReference><SchoolIdentity><SchoolId>7</SchoolId>\
         </SchoolIdentity></SchoolReference><SchoolYear>2021-2022</SchoolYear>\
         <SessionName>Fall</SessionName></SessionIdentity></SessionReference>\
         </CourseOfferingIdentity></CourseOfferingReference></Section>",
    );

    let offering = json!({
        "localCourseCode": "ALG", "schoolId": "7", "schoolYear": "2022", "sessionName": "Fall"
    });
    assert_eq!(section, json!({"sectionIdentifier": "1", "courseOfferingReference": offering}));
}

#[test]
fn a_school_year_of_a_record_is_a_reference() {
    let session = document("<Session><SchoolYear>2021-2022</SchoolYear></Session>");

    assert_eq!(session, json!({"schoolYearTypeReference": {"schoolYear": "2022"}}));
}

#[test]
fn repeated_elements_become_a_list_of_items() {
    let section = document(
        "<Section><OfferedGradeLevel>uri://g#1</OfferedGradeLevel><ClassPeriodReference>\
         <ClassPeriodIdentity><ClassPeriodName>A</ClassPeriodName></ClassPeriodIdentity>\
         </ClassPeriodReference><OfferedGradeLevel>uri://g#2</OfferedGradeLevel></Section>",
    );

    assert_eq!(
        section,
        json!({
            "offeredGradeLevels": [
                {"gradeLevelDescriptor": "uri://g#1"}, {"gradeLevelDescriptor": "uri://g#2"},
            ],
            "classPeriods": [{"classPeriodReference": {"classPeriodName": "A"}}],
        })
    );
}

#[test]
fn common_types_that_json_does_not_nest_are_inlined() {
    let student = document(
        "<Student><Name><FirstName>Ann</FirstName></Name><BirthData><BirthDate>2010-01-31Z\
         </BirthDate><MultipleBirthStatus>1</MultipleBirthStatus></BirthData><Citizenship>\
         <Visa>uri://v#A</Visa></Citizenship></Student>",
    );

    assert_eq!(
        student,
        json!({
            "firstName": "Ann", "birthDate": "2010-01-31", "multipleBirthStatus": "true",
            "visas": [{"visaDescriptor": "uri://v#A"}],
        })
    );
}

#[test]
fn lists_can_be_nested_in_items_and_objects() {
    let standard = document(
        "<LearningStandard><ContentStandard><Title>T</Title><Author>A</Author><Author>B</Author>\
         </ContentStandard></LearningStandard>",
    );
    let school = document(
        "<School><Address><City>X</City><Period><BeginDate>2020-01-01</BeginDate></Period>\
         </Address><Address><City>Y</City></Address></School>",
    );

    let authors = json!([{"author": "A"}, {"author": "B"}]);
    assert_eq!(standard, json!({"contentStandard": {"title": "T", "authors": authors}}));
    assert_eq!(
        school["addresses"],
        json!([{"city": "X", "periods": [{"beginDate": "2020-01-01"}]}, {"city": "Y"}])
    );
}

#[test]
fn an_element_may_contain_a_child_of_its_own_name() {
    let result = document(
        "<StudentAssessment><PerformanceLevel><PerformanceLevel>uri://p#1</PerformanceLevel>\
         </PerformanceLevel></StudentAssessment>",
    );

    assert_eq!(result, json!({"performanceLevels": [{"performanceLevelDescriptor": "uri://p#1"}]}));
}

#[test]
fn text_split_by_entities_is_joined_and_trimmed_at_its_ends_only() {
    let student = document(
        "<Student><Name><FirstName>\n A &amp; B <!-- or -->C<![CDATA[ <D> ]]>&#xe9; \n</FirstName>\
         <MiddleName/><LastSurname>  </LastSurname></Name></Student>",
    );

    assert_eq!(student, json!({"firstName": "A & B C <D> é"}));
}

#[test]
fn empty_elements_and_nil_are_as_if_absent() {
    let school = document(
        "<School><Address></Address><NameOfInstitution xsi:nil='true'>x</NameOfInstitution>\
         <SchoolId>7</SchoolId><LocalEducationAgencyReference/></School>",
    );

    assert_eq!(school, json!({"schoolId": "7"}));
}

#[test]
fn prefixes_of_names_do_not_matter() {
    let xml = "<e:InterchangeStudent xmlns:e='x'><e:Student e:id='a'><e:StudentUniqueId>1\
               </e:StudentUniqueId></e:Student></e:InterchangeStudent>";

    let read = read_file(&Bench::new(), xml.as_bytes()).unwrap();

    assert_eq!(read[0].json, json!({"studentUniqueId": "1"}));
}

#[test]
fn an_id_is_found_before_and_after_the_reference() {
    let read = read_all(
        "<School id='s'><SchoolId>7</SchoolId></School>\
         <Location id='l'><ClassroomIdentificationCode>C</ClassroomIdentificationCode>\
         <SchoolReference ref='later'/></Location>\
         <Section><LocationReference ref='l'/><LocationSchoolReference ref='s'/></Section>\
         <School id='later'><SchoolId>8</SchoolId></School>",
    );

    let location =
        json!({"classroomIdentificationCode": "C", "schoolReference": {"schoolId": "8"}});
    assert_eq!(read[1].json, location);
    assert_eq!(
        read[2].json,
        json!({
            "locationReference": {"classroomIdentificationCode": "C", "schoolId": "8"},
            "locationSchoolReference": {"schoolId": "7"},
        })
    );
    assert!(read.iter().all(|read| read.flaws.is_empty()), "{read:?}");
}

#[test]
fn an_id_may_belong_to_a_standalone_or_a_nested_reference() {
    let read = read_all(
        "<SchoolReference id='bare'><SchoolIdentity><SchoolId>7</SchoolId></SchoolIdentity>\
         </SchoolReference>\
         <Location><SchoolReference id='inside' ref='bare'/></Location>\
         <ClassPeriod><SchoolReference ref='inside'/></ClassPeriod>",
    );

    assert_eq!(read.len(), 2);
    for read in read {
        assert_eq!(read.json, json!({"schoolReference": {"schoolId": "7"}}));
    }
}

#[test]
fn ids_of_a_base_and_its_subclasses_are_interchangeable_in_references() {
    let read = read_all(
        "<School id='s'><SchoolId>7</SchoolId></School>\
         <Course><EducationOrganizationReference ref='s'/></Course>\
         <EducationOrganizationReference id='b'><EducationOrganizationIdentity>\
         <EducationOrganizationId>8</EducationOrganizationId></EducationOrganizationIdentity>\
         </EducationOrganizationReference><Location><SchoolReference ref='b'/></Location>",
    );

    let organization = json!({"educationOrganizationReference": {"educationOrganizationId": "7"}});
    assert_eq!(read[1].json, organization);
    assert_eq!(read[2].json, json!({"schoolReference": {"schoolId": "8"}}));
}

#[test]
fn an_id_at_the_end_of_a_too_long_chain_is_found_only_from_nearby() {
    let chain: String = (1..10)
        .map(|at| format!("<SchoolReference id='r{at}' ref='r{}'/>", at + 1))
        .chain(["<School id='r10'><SchoolId>7</SchoolId></School>".to_owned()])
        .collect();
    let far = "<Location><SchoolReference ref='r1'/></Location>";
    let near = "<ClassPeriod><SchoolReference ref='r6'/></ClassPeriod>";

    let read = read_all(&format!("{far}{near}{far}{chain}"));

    let flaws: Vec<_> = read.iter().map(|read| read.flaws.len()).collect();
    assert_eq!(flaws, [1, 0, 1, 0], "{read:?}");
    assert_eq!(read[1].json, json!({"schoolReference": {"schoolId": "7"}}));
}

#[test]
fn reading_a_file_that_is_truncated_meanwhile_ends() {
    let bench = Bench::new();
    let folder = Folder::new();
    let begin = "<InterchangeX><Location><SchoolReference ref='cut'/></Location>\
                 <SchoolReference id='cut'>";
    let end = "<SchoolIdentity><SchoolId>7</SchoolId></SchoolIdentity></SchoolReference>\
               </InterchangeX>";
    let path = folder.write("file.xml", format!("{begin}{end}"));
    let shapes = Shapes::of(&bench.target.catalog.model);
    let lookups = Lookups::new(Target::store(&bench.target), &shapes);
    let survey = survey(&File::open(&path).unwrap(), 0, &shapes, &bench.levels).unwrap();
    let model = &bench.target.catalog.model;
    let file = XmlFile::new(model, &shapes, &path, 0, &survey);
    std::fs::write(&path, begin).unwrap();

    let mut messages = vec![];
    let read = file.each(survey.runs[0], &|_| true, Some(&lookups), &mut |record| {
        messages.extend(record.flaws.into_iter().map(|flaw| flaw.message));
        Ok(())
    });

    assert!(read.is_ok());
    assert!(messages[0].contains("the file ends inside it"), "{messages:?}");
}

#[test]
fn a_ref_to_a_missing_or_unfitting_id_is_a_flaw() {
    let read = read_all(
        "<Location><SchoolReference ref='nothing'/></Location>\
         <Location><SchoolReference ref='student'/></Location>\
         <Location><SchoolReference ref='twice'/></Location>\
         <Location id='loop'><SchoolReference id='ring' ref='ring'/></Location>\
         <Student id='student'/><School id='twice'/><School id='twice'/>",
    );

    let messages: Vec<&str> =
        read.iter().filter_map(|read| Some(read.flaws.first()?.1.as_str())).collect();
    assert_eq!(messages.len(), 4);
    assert!(messages[0].contains("no element"), "{messages:?}");
    assert!(messages[1].contains("belongs to a Student, not to a School"), "{messages:?}");
    assert!(messages[2].contains("more than one"), "{messages:?}");
    assert!(messages[3].contains("refer to each other in a chain"), "{messages:?}");
    assert_eq!(read[0].flaws[0].0, "SchoolReference");
}

#[test]
fn elements_for_one_value_must_agree() {
    let reference = |school: u8| {
        format!(
            "<ClassPeriod><SchoolReference><SchoolIdentity><SchoolId>7</SchoolId><SchoolId>{school}\
             </SchoolId></SchoolIdentity></SchoolReference></ClassPeriod>"
        )
    };

    let (agree, differ) = (read_all(&reference(7)), read_all(&reference(8)));

    assert!(agree[0].flaws.is_empty());
    assert_eq!(differ[0].flaws[0].0, "SchoolReference/SchoolIdentity/SchoolId");
}

#[test]
fn an_invalid_school_year_is_a_flaw() {
    let read = read_all("<Session><SchoolYear>last</SchoolYear></Session>");

    assert_eq!(read[0].flaws, [("SchoolYear".into(), "The text is not a school year.".into())]);
}

#[test]
fn an_element_unknown_to_the_model_is_noted_with_its_path() {
    let read = read_all(
        "<Student><Name>stray<Nick><FirstName>x</FirstName></Nick></Name><StudentUniqueId>1\
         </StudentUniqueId></Student>",
    );

    assert_eq!(read[0].json, json!({"studentUniqueId": "1"}));
    assert_eq!(read[0].strays, ["Name/Nick", "Name/text()"]);
}

#[test]
fn a_child_element_that_a_property_does_not_take_is_skipped() {
    let term = document(
        "<TermDescriptor><CodeValue>A</CodeValue><PriorDescriptor><CodeValue>B</CodeValue>\
         </PriorDescriptor></TermDescriptor>",
    );

    assert_eq!(term, json!({"codeValue": "A"}));
}

#[test]
fn a_record_has_its_line_and_records_of_other_levels_are_skipped() {
    let read = read_all(
        "\n<Student/>\n<School/>\n\n<Student><StudentUniqueId>9</StudentUniqueId></Student>",
    );

    let lines: Vec<u64> = read.iter().map(|read| read.line).collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn a_record_that_is_too_large_is_a_flaw_and_the_next_one_is_read() {
    let text = "x".repeat(1_000_000);
    let address = format!("<Address><City>{text}</City></Address>");

    let read = read_all(&format!(
        "<School>{}</School><School><SchoolId>1</SchoolId></School>",
        address.repeat(11)
    ));

    assert!(read[0].flaws[0].1.contains("larger than"), "{:?}", read[0].flaws);
    assert_eq!(read[1].json, json!({"schoolId": "1"}));
}

#[test]
fn a_file_that_is_not_an_interchange_is_reported_with_the_position() {
    let bench = Bench::new();
    for (xml, line, column, part) in [
        ("", 1, 1, "no root element"),
        ("<a/>", 1, 1, "begins with Interchange"),
        ("x<InterchangeA/>", 1, 1, "before the root"),
    ] {
        let error = read_file(&bench, xml.as_bytes()).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{xml}: {}", error.message);
        assert!(error.message.contains(part), "{xml}: {}", error.message);
    }
}

#[test]
fn what_does_not_belong_among_the_records_is_reported_with_the_position() {
    let bench = Bench::new();
    for (xml, line, column, part) in [
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><InterchangeA/>", 1, 1, "DOCTYPE"),
        ("<InterchangeA>\n <Student>", 2, 11, "ends before its root"),
        ("<InterchangeA>\n </Student></InterchangeA>", 2, 2, "no start tag"),
        ("<InterchangeA/>\n<b/>", 2, 1, "after the root element"),
        ("<InterchangeA>\n<!ENTITY a 'b'></InterchangeA>", 2, 1, "declaration"),
        ("<InterchangeA><Student/", 1, 15, "cut off"),
    ] {
        let folder = Folder::new();
        let path = folder.write("file.xml", xml);
        let shapes = Shapes::of(&bench.target.catalog.model);
        let survey = survey(&File::open(path).unwrap(), 0, &shapes, &bench.levels).unwrap();

        let stray = survey.strays.first().unwrap();
        assert_eq!((stray.line, stray.column), (line, column), "{xml}: {}", stray.message);
        assert!(stray.message.contains(part), "{xml}: {}", stray.message);
    }
}

#[test]
fn a_record_that_is_not_well_formed_is_a_flaw_and_its_neighbours_are_read() {
    let student = |id: u8| format!("<Student><StudentUniqueId>{id}</StudentUniqueId></Student>\n");
    for (broken, message) in [
        ("<Student><Name></Nam></Student>", "well formed"),
        ("<Student><Name><FirstName>A", "does not end"),
        ("<Student><FirstName>&bomb;</FirstName></Student>", "entity"),
        ("<Student><FirstName></Student>", "well formed"),
        ("<Student a></Student>", "attribute"),
        ("<Student \"", "well formed"),
        ("<x:Student a='b", "well formed"),
    ] {
        let read = read_all(&format!("{}{broken}{}", student(1), student(2)));

        assert_eq!(read.len(), 3, "{broken}: {read:?}");
        assert!(read[1].flaws[0].1.contains(message), "{broken}: {:?}", read[1].flaws);
        assert!(read[1].flaws[0].1.contains("line 2"), "{broken}: {:?}", read[1].flaws);
        for (at, id) in [(0, "1"), (2, "2")] {
            assert_eq!(read[at].json, json!({"studentUniqueId": id}), "{broken}");
        }
    }
    let (begin, end) = (b"<InterchangeX><Student><FirstName>\xff", b"</InterchangeX>");
    let (rest, other) = ("</FirstName></Student>", student(2));
    let bytes = [&begin[..], rest.as_bytes(), other.as_bytes(), &end[..]].concat();
    let read = read_file(&Bench::new(), &bytes).unwrap();
    assert!(read[0].flaws[0].1.contains("UTF-8"), "{read:?}");
    assert_eq!(read[1].json, json!({"studentUniqueId": "2"}));
}

#[test]
fn no_bytes_make_the_reader_panic() {
    let bench = Bench::new();
    proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..200))| {
        _ = read_file(&bench, &bytes);
        let root = (&b"<InterchangeStudent><Student>"[..], &b"</Student></InterchangeStudent>"[..]);
        _ = read_file(&bench, &[root.0, &bytes, root.1].concat());
    });
}

#[test]
fn no_order_of_tags_makes_the_reader_panic() {
    let bench = Bench::new();
    let tags = prop::collection::vec(prop::sample::select(TAGS), 0..24);
    proptest!(|(tags in tags)| {
        let xml = format!("<InterchangeX>{}</InterchangeX>", tags.concat());
        _ = read_file(&bench, xml.as_bytes());
    });
}

/// Pieces for building interchanges, well formed or not.
const TAGS: &[&str] = &[
    "<Student id='a'>",
    "</Student>",
    "<Name>",
    "</Name>",
    "<FirstName>",
    "</FirstName>",
    "x &amp; y",
    "<School id='b'>",
    "</School>",
    "<SchoolId>1</SchoolId>",
    "<SchoolReference ref='a'/>",
    "<SchoolReference ref='b'/>",
    "<SchoolReference id='b' ref='b'>",
    "</SchoolReference>",
    "<SchoolIdentity>",
    "</SchoolIdentity>",
    "<Location>",
    "</Location>",
    "<SchoolLookup>",
    "</SchoolLookup>",
    "<Unknown/>",
    "<!-- c -->",
    "<![CDATA[<]]>",
    "&#65;",
    "<SchoolYear>2021-2022</SchoolYear>",
    "<Session>",
    "</Session>",
    "<Section>",
    "</Section>",
    "<LocationReference ref='a'/>",
    "&",
];
