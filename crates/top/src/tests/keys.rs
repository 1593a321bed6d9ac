use report::snapshot::Panel;

use crate::{Extent, Key, Mode, Request, View};

const S: u64 = 1_000_000_000;
const LIVE: Extent = Extent { first_ns: 100 * S, last_ns: 200 * S, live: true };
const ENDED: Extent = Extent { live: false, ..LIVE };

/// Presses keys, with ten rows in each table.
fn press(view: &mut View, extent: Extent, keys: &[Key]) -> Request {
    keys.iter().map(|key| view.key(*key, extent, 10)).last().unwrap_or(Request::Nothing)
}

#[test]
fn time_moves_within_the_extent() {
    let mut view = View::new(10 * S);
    let mut at = |keys: &[Key]| {
        press(&mut view, LIVE, keys);
        (view.mode, view.window(LIVE).to_ns / S)
    };
    assert_eq!(at(&[]), (Mode::Follow, 200));
    assert_eq!(at(&[Key::Left, Key::Left]), (Mode::Held(198 * S), 198));
    assert_eq!(at(&[Key::PageUp]), (Mode::Held(188 * S), 188));
    assert_eq!(at(&[Key::Home]), (Mode::Held(110 * S), 110));
    assert_eq!(at(&[Key::PageUp, Key::PageUp]), (Mode::Held(100 * S), 100));
    assert_eq!(at(&[Key::Right]), (Mode::Held(101 * S), 101));
    assert_eq!(at(&[Key::End]), (Mode::Follow, 200));
}

#[test]
fn space_pauses_and_resumes() {
    let mut view = View::new(10 * S);
    press(&mut view, LIVE, &[Key::Char(' ')]);
    let later = Extent { last_ns: 230 * S, ..LIVE };
    assert_eq!(view.window(later).to_ns, 200 * S);
    press(&mut view, later, &[Key::Char(' ')]);
    assert_eq!(view.mode, Mode::Playing(200 * S));
    view.pass(S, later);
    assert_eq!(view.mode, Mode::Playing(201 * S));
    view.pass(40 * S, later);
    assert_eq!(view.mode, Mode::Follow);
    press(&mut view, ENDED, &[Key::Char(' '), Key::Char(' ')]);
    assert_eq!(view.mode, Mode::Playing(100 * S), "a finished run restarts from its begin");
    view.pass(400 * S, ENDED);
    assert_eq!(view.mode, Mode::Held(200 * S));
}

#[test]
fn windows_panels_rows_and_orders_are_chosen() {
    let mut view = View::new(10 * S);
    press(&mut view, LIVE, &[Key::Char('+')]);
    assert_eq!(view.window_ns, 30 * S);
    press(&mut view, LIVE, &[Key::Char('-'); 20]);
    assert_eq!(view.window_ns, S);
    press(&mut view, LIVE, &[Key::Tab, Key::Tab, Key::Down, Key::Down]);
    assert_eq!((view.panel, view.row), (Panel::Culprits, 2));
    press(&mut view, LIVE, &[Key::Down; 20]);
    assert_eq!(view.row, 9);
    press(&mut view, LIVE, &[Key::Char('s')]);
    assert_eq!((view.order(Panel::Culprits), view.order(Panel::Stuck), view.row), (1, 0, 0));
    press(&mut view, LIVE, &[Key::Char('s'), Key::BackTab, Key::BackTab, Key::BackTab]);
    assert_eq!((view.order(Panel::Culprits), view.panel), (2, Panel::Work));
}

#[test]
fn a_filter_is_typed_kept_and_cleared_and_takes_all_letters() {
    let mut view = View::new(10 * S);
    assert_eq!(
        press(&mut view, LIVE, &[Key::Char('/'), Key::Char('q'), Key::Char(' '), Key::Char('x')]),
        Request::Redraw
    );
    assert_eq!((view.filter.as_str(), view.mode), ("q x", Mode::Follow));
    press(&mut view, LIVE, &[Key::Backspace, Key::Enter]);
    assert_eq!((view.filter.as_str(), view.typing), ("q ", false));
    press(&mut view, LIVE, &[Key::Escape]);
    assert_eq!(view.filter, "");
    assert_eq!(press(&mut view, LIVE, &[Key::Char('/'), Key::Interrupt]), Request::Quit);
}

#[test]
fn details_hold_the_moment_and_any_key_closes_help() {
    let mut view = View::new(10 * S);
    press(&mut view, LIVE, &[Key::Enter, Key::Down]);
    assert_eq!((view.details, view.mode), (Some(1), Mode::Held(200 * S)));
    assert_eq!(press(&mut view, LIVE, &[Key::Char('q')]), Request::Redraw);
    assert_eq!(view.details, None);
    press(&mut view, LIVE, &[Key::Char('?')]);
    assert_eq!((press(&mut view, LIVE, &[Key::Char('q')]), view.help), (Request::Redraw, false));
    assert_eq!(press(&mut view, LIVE, &[Key::Char('q')]), Request::Quit);
    assert_eq!(View::new(S).key(Key::Enter, LIVE, 0), Request::Nothing, "nothing to show in full");
}
