//! The plot: a panel per work, a bar per contestant for each of its frames.
//!
//! The axis is linear and ends a little above the slowest of the compiled contestants. The interpreters' bars would be ten
//! times as long: they are cut, which a gap shows, and every bar has its number.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::composition::Composition;
use crate::error::Error;
use crate::machine::Machine;
use crate::results::{ContestantResult, RECORDED_FLOOR, Results, WorkResult};
use crate::works::Role;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

const WIDTH: u32 = 960;
const BAR: i32 = 15;
const GROUP_GAP: i32 = 7;
/// Of a panel: its title, and the space after it.
const TITLE: i32 = 34;
const PANEL_GAP: i32 = 14;
const HEADER: i32 = 58;
const LABELS: i32 = 300;
const NUMBERS: i32 = 90;

const INK: RGBColor = RGBColor(40, 40, 46);
const FAINT: RGBColor = RGBColor(120, 120, 128);
const MOONHOOK: RGBColor = RGBColor(58, 96, 196);
const C: RGBColor = RGBColor(98, 112, 128);
const LUA: RGBColor = RGBColor(205, 142, 64);
const FLOOR: RGBColor = RGBColor(196, 200, 206);

/// Place, text and colour.
const LEGEND: [(i32, &str, RGBColor); 4] = [
    (470, "floor (empty program)", FLOOR),
    (670, "Moonhook", MOONHOOK),
    (762, "C eBPF", C),
    (838, "Lua peers", LUA),
];

/// The plot as SVG text.
pub fn draw(results: &Results) -> Result<String, Error> {
    let composition = results.composition.iter().map(Composition::as_work);
    let works: Vec<WorkResult> = results.works.iter().cloned().chain(composition).collect();
    let height = HEADER + works.iter().map(panel_height).sum::<i32>() + 10;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
        draw_all(&area, &results.machine, &works).map_err(|error| Error::Plot(error.to_string()))?;
        area.present().map_err(|error| Error::Plot(error.to_string()))?;
    }
    Ok(svg)
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_all<'a>(area: &Area<'a>, machine: &Machine, works: &[WorkResult]) -> Drawn<'a> {
    area.fill(&WHITE)?;
    text(area, "ns per packet (median)", (16, 18), 19, &INK, HPos::Left)?;
    let subtitle = format!("{}, {}, {}", machine.processor, machine.kernel, machine.date);
    text(area, &subtitle, (16, 40), 13, &FAINT, HPos::Left)?;
    let note = "a scale for each work; bars with a gap are cut";
    text(area, note, (WIDTH as i32 - 16, 40), 13, &FAINT, HPos::Right)?;
    for (x, name, colour) in LEGEND {
        area.draw(&Rectangle::new([(x, 12), (x + 12, 24)], colour.filled()))?;
        text(area, name, (x + 18, 18), 13, &INK, HPos::Left)?;
    }
    let mut top = HEADER;
    for work in works {
        draw_panel(area, work, top)?;
        top += panel_height(work);
    }
    Ok(())
}

/// Those that get bars: the floor is shown in the others' bars.
fn shown(work: &WorkResult) -> impl Iterator<Item = &ContestantResult> {
    work.contestants.iter().filter(|contestant| contestant.role != Role::Floor)
}

fn panel_height(work: &WorkResult) -> i32 {
    let group = work.cases.len() as i32 * BAR + GROUP_GAP;
    TITLE + shown(work).count() as i32 * group + PANEL_GAP
}

fn draw_panel<'a>(area: &Area<'a>, work: &WorkResult, top: i32) -> Drawn<'a> {
    text(area, &work.title, (16, top + 14), 16, &INK, HPos::Left)?;
    if let [recorded, ..] = work.recorded[..] {
        let note = format!(
            "HIKe's virtual machine, as recorded: {recorded:.0}, with a floor of {RECORDED_FLOOR:.0}"
        );
        text(area, &note, (WIDTH as i32 - 16, top + 14), 12, &FAINT, HPos::Right)?;
    }
    area.draw(&PathElement::new([(16, top + 26), (WIDTH as i32 - 16, top + 26)], FLOOR))?;
    let scale = Scale::of(work);
    let mut y = top + TITLE;
    for contestant in shown(work) {
        text(area, &contestant.title, (16, y + BAR / 2), 13, &INK, HPos::Left)?;
        for (case, name) in work.cases.iter().enumerate() {
            text(area, name, (LABELS - 8, y + BAR / 2), 12, &FAINT, HPos::Right)?;
            draw_bar(area, work, contestant, case, &scale, y)?;
            y += BAR;
        }
        y += GROUP_GAP;
    }
    Ok(())
}

fn draw_bar<'a>(
    area: &Area<'a>,
    work: &WorkResult,
    contestant: &ContestantResult,
    case: usize,
    scale: &Scale,
    y: i32,
) -> Drawn<'a> {
    let cost = contestant.costs[case].median;
    let end = scale.x(cost);
    let bar =
        |from, to, colour: RGBColor| Rectangle::new([(from, y + 1), (to, y + BAR - 2)], colour.filled());
    area.draw(&bar(LABELS, end, colour(contestant.role)))?;
    if contestant.role.in_kernel() {
        area.draw(&bar(LABELS, scale.x(work.floor(case)).min(end), FLOOR))?;
    }
    if cost > scale.limit {
        area.draw(&bar(end - 22, end - 18, WHITE))?;
    }
    text(area, &format!("{cost:.1}"), (end + 6, y + BAR / 2), 12, &INK, HPos::Left)
}

fn colour(role: Role) -> RGBColor {
    match role {
        Role::Moonhook => MOONHOOK,
        Role::Floor => FLOOR,
        Role::Reference | Role::Other | Role::VirtualMachine => C,
        Role::Interpreter | Role::UserSpace => LUA,
    }
}

/// From ns to pixels.
struct Scale {
    /// In ns, at the axis' end.
    limit: f64,
}

impl Scale {
    fn of(work: &WorkResult) -> Scale {
        let compiled = work.contestants.iter().filter(|contestant| contestant.role.in_kernel());
        let slowest = compiled.flat_map(|contestant| &contestant.costs).map(|cost| cost.median);
        Scale { limit: slowest.fold(10.0, f64::max) * 1.6 }
    }

    fn x(&self, ns: f64) -> i32 {
        let length = f64::from(WIDTH as i32 - LABELS - NUMBERS);
        LABELS + (ns.min(self.limit) / self.limit * length).round() as i32
    }
}

fn text<'a>(
    area: &Area<'a>,
    text: &str,
    at: (i32, i32),
    size: i32,
    colour: &RGBColor,
    align: HPos,
) -> Drawn<'a> {
    let style =
        TextStyle::from(("sans-serif", size).into_font()).color(colour).pos(Pos::new(align, VPos::Center));
    area.draw(&Text::new(text.to_string(), at, style))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Cost;

    #[test]
    fn bars_are_cut_beyond_the_compiled_contestants() {
        let contestant = |role, median| ContestantResult {
            title: "it".into(),
            role,
            costs: vec![Cost { median, min: median, max: median }],
        };
        let work = WorkResult {
            title: "work".into(),
            at_most: Some(1.0),
            whole: false,
            faster: 10.0,
            recorded: Vec::new(),
            cases: vec!["frame".into()],
            contestants: vec![contestant(Role::Reference, 100.0), contestant(Role::Interpreter, 5000.0)],
        };
        let scale = Scale::of(&work);
        assert_eq!(scale.limit, 160.0);
        assert_eq!(scale.x(5000.0), WIDTH as i32 - NUMBERS);
        assert_eq!(scale.x(0.0), LABELS);
        assert_eq!(shown(&work).count(), 2);
    }
}
