//! Disciplinary incidents, their participants and the actions taken.

use crate::batch::Batch;
use crate::json::Object;
use crate::layout::District;
use crate::people::{Student, student_id};
use crate::random::Topic;
use crate::refer;
use crate::school::Level;
use crate::stage::schedule::minutes;

/// An incident; it belongs to one student.
struct Incident<'a> {
    student: Student<'a>,
    /// Index of the day of instruction.
    day: usize,
    minute: usize,
    place: &'static str,
    behavior: &'static str,
    /// Number of a classmate who witnessed it.
    witness: Option<usize>,
    /// Code value of the action taken, and its length in days.
    action: Option<(&'static str, usize)>,
}

/// Returns a student's incident, if there is one.
fn incident(district: &District, number: usize) -> Option<Incident<'_>> {
    let (school, cohort, _) = district.seat(number);
    let mut draw = district.draw(Topic::Discipline, number);
    let chance = match school.level {
        Level::Elementary => 20,
        Level::Combined => 40,
        Level::High => 80,
        Level::Middle => 100,
    };
    if !draw.chance(chance) {
        return None;
    }
    let student = district.student(number);
    let day = student.enrolled.start + draw.below(student.enrolled.len());
    let behavior = draw.weighted(&[
        (600, "School Code of Conduct"),
        (300, "School Violation"),
        (80, "Other"),
        (20, "State Offense"),
    ]);
    let place = draw.weighted(&[
        (350, "Classroom"),
        (250, "Hallway or stairs"),
        (200, "Cafeteria area"),
        (150, "Athletic field or playground"),
        (50, "School bus"),
    ]);
    let next = (student.place + 1) % cohort.students;
    let other = district.student_at(school, cohort.grade, next);
    let witness = (other != number && draw.chance(250)).then_some(other);
    let action = draw.chance(750).then(|| {
        draw.weighted(&[
            (450, ("Removal from Classroom", 1)),
            (350, ("In School Suspension", 2)),
            (150, ("Out of School Suspension", 3)),
            (50, ("Community Service", 1)),
        ])
    });
    let minute = draw.between(8 * 60, 15 * 60);
    Some(Incident { student, day, minute, place, behavior, witness, action })
}

impl Incident<'_> {
    fn identifier(&self, o: &mut Object<'_>) {
        o.text("incidentIdentifier", format_args!("I{}", student_id(self.student.number)));
    }

    fn refer(&self, o: &mut Object<'_>) {
        o.object("disciplineIncidentReference", |r| {
            self.identifier(r);
            r.number("schoolId", self.student.school.id);
        });
    }

    fn behavior(&self, o: &mut Object<'_>) {
        o.descriptor("behaviorDescriptor", "BehaviorDescriptor", self.behavior);
    }
}

/// Writes the incident.
pub(super) fn incidents(district: &District, number: usize, batch: &mut Batch) {
    let Some(incident) = incident(district, number) else { return };
    batch.add("DisciplineIncident", |o| {
        incident.identifier(o);
        refer::school(o, incident.student.school);
        o.text("incidentDate", district.year.instruction[incident.day]);
        minutes(o, "incidentTime", incident.minute);
        let kind = "IncidentLocationDescriptor";
        o.descriptor("incidentLocationDescriptor", kind, incident.place);
        let kind = "ReporterDescriptionDescriptor";
        o.descriptor("reporterDescriptionDescriptor", kind, "Staff");
        o.flag("reportedToLawEnforcement", incident.behavior == "State Offense");
        o.list("behaviors", [()], |item, ()| incident.behavior(item));
    });
}

/// Writes the association of the student whose behavior it was.
pub(super) fn behaviors(district: &District, number: usize, batch: &mut Batch) {
    let Some(incident) = incident(district, number) else { return };
    batch.add("StudentDisciplineIncidentBehaviorAssociation", |o| {
        incident.behavior(o);
        incident.refer(o);
        refer::student(o, number);
        took_part(o, "Perpetrator");
    });
}

/// Writes the association of the witness.
pub(super) fn others(district: &District, number: usize, batch: &mut Batch) {
    let Some(incident) = incident(district, number) else { return };
    let Some(witness) = incident.witness else { return };
    batch.add("StudentDisciplineIncidentNonOffenderAssociation", |o| {
        incident.refer(o);
        refer::student(o, witness);
        took_part(o, "Witness");
    });
}

/// Writes the action taken.
pub(super) fn actions(district: &District, number: usize, batch: &mut Batch) {
    let Some(incident) = incident(district, number) else { return };
    let Some((code, length)) = incident.action else { return };
    batch.add("DisciplineAction", |o| {
        o.text("disciplineActionIdentifier", format_args!("A{}", student_id(number)));
        o.text("disciplineDate", district.year.instruction[incident.day]);
        refer::student(o, number);
        let school = incident.student.school;
        o.object("responsibilitySchoolReference", |r| r.number("schoolId", school.id));
        o.descriptors("disciplines", "disciplineDescriptor", "DisciplineDescriptor", &[code]);
        o.number("disciplineActionLength", length);
        o.number("actualDisciplineActionLength", length);
        o.list("studentDisciplineIncidentBehaviorAssociations", [()], |item, ()| {
            item.object("studentDisciplineIncidentBehaviorAssociationReference", |r| {
                incident.behavior(r);
                incident.identifier(r);
                r.number("schoolId", school.id);
                r.text("studentUniqueId", student_id(number));
            });
        });
    });
}

fn took_part(o: &mut Object<'_>, code: &str) {
    o.descriptors(
        "disciplineIncidentParticipationCodes",
        "disciplineIncidentParticipationCodeDescriptor",
        "DisciplineIncidentParticipationCodeDescriptor",
        &[code],
    );
}
