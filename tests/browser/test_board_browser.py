"""The interactive figures in a real browser: what the page shows is what Python computes for the same order.

Every check waits until the page shows what is expected and never looks just once: a busy machine makes the tests
slower, not red. The limits are far longer than a page ever needs; only a failure takes that long.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import insdel
from insdel.examples import game, price

pytestmark = pytest.mark.browser
PLAY = "notebooks/22_beat_shapley.html"
CARDS, GAME = '.play[data-play="order"]', '.play[data-play="game"]'
LOADING, PATIENCE = 120_000, 30_000  # milliseconds for a page with its mathematics, and for the answer to an action
# the first board
HOUSE = insdel.Lattice.evaluate(price, np.array([80.0, 0.0, 2.0]), np.array([180.0, 400.0, 1.5]), progress=False)
STILL = "* { scroll-behavior: auto !important; transition: none !important; animation: none !important; }"


def settle(page: Any) -> Any:
    """Wait until both figures are built and nothing on the page will move by itself any more."""
    for figure in (CARDS, GAME):
        page.wait_for_selector(f"{figure}[data-ready]", state="attached", timeout=LOADING)
    page.add_style_tag(content=STILL)
    page.evaluate("""async () => {
        await document.fonts.ready;
        await window.MathJax?.startup?.promise;
    }""")
    page.set_default_timeout(PATIENCE)
    return page


@pytest.fixture(scope="module")
def opened(browser: Any, address: str) -> Iterator[Any]:
    """The page, loaded once for all tests."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.goto(f"{address}/{PLAY}", wait_until="load", timeout=LOADING)
    yield settle(page)
    context.close()


RESET = """([cards, game]) => {
    const change = (node) => node.dispatchEvent(new Event("change", { bubbles: true }));
    const insertion = document.querySelector(`${cards} input[value="insertion"]`);
    insertion.checked = true;
    change(insertion);
    const select = document.querySelector(`${cards} select`);
    select.value = "0";
    change(select);
    document.querySelector(`${game} button`).click();
    document.documentElement.dataset.theme = "light";
    for (const fold of document.querySelectorAll("details.play-still")) fold.open = false;
    document.activeElement.blur();
}"""


@pytest.fixture
def page(opened: Any) -> Iterator[Any]:
    """The page as a reader finds it: first board, features in their order, first game, no button held down."""
    opened.set_viewport_size({"width": 1280, "height": 900})
    opened.mouse.move(1, 1)
    opened.evaluate(RESET, [CARDS, GAME])
    wait_order(opened, 0, 1, 2)
    yield opened
    opened.mouse.up()  # also after a failure in the middle of a drag


def wait_data(page: Any, figure: str, name: str, value: str) -> None:
    """Wait until the figure says that its order (dividends, position) is this one; its cells are written before."""
    test = "([figure, name, value]) => document.querySelector(figure).dataset[name] === value"
    page.wait_for_function(test, arg=[figure, name, value], timeout=PATIENCE)


def wait_order(page: Any, *cards: int) -> None:
    wait_data(page, CARDS, "order", ",".join(map(str, cards)))
    shown = "([figure]) => [...document.querySelectorAll(`${figure} [data-item]`)].map(e => e.dataset.item).join()"
    assert page.evaluate(shown, [CARDS]) == ",".join(map(str, cards))  # the cards are where the figure says


def read(page: Any, figure: str) -> dict[str, float]:
    """All numbers of the figure's tables, with all their digits, at one moment."""
    script = """figure => Object.fromEntries([...document.querySelectorAll(`${figure} [data-cell][data-value]`)]
        .map(cell => [cell.dataset.cell, cell.dataset.value]))"""
    return {name: float(value) for name, value in page.evaluate(script, figure).items() if value != "null"}


def boards(page: Any) -> list[dict[str, Any]]:
    return list(json.loads(page.locator(f"{CARDS} > script").text_content())["boards"])


def lattice(deal: dict[str, Any]) -> insdel.Lattice:
    values = np.frombuffer(base64.urlsafe_b64decode(deal["values"]), dtype="<f4").astype(float)
    d = int(np.log2(len(values)))
    return insdel.Lattice(values, tuple(range(d)), d)


def check_scores(page: Any, one: insdel.Lattice, cards: Sequence[int]) -> None:
    """The page's AUC, ABC and share of the best are those of the lattice."""
    wait_order(page, *cards)
    found, order = read(page, CARDS), np.array(cards)
    abc = {
        "insertion": one.abc(order),
        "deletion": one.abc(order[::-1].copy(), "deletion"),
        "both": one.abc(order, "both"),
    }
    assert found["insertion-auc"] == pytest.approx(float(insdel.auc(one.curve(order))))
    assert found["deletion-auc"] == pytest.approx(float(insdel.auc(one.curve(order[::-1].copy()))))
    for test, area in abc.items():
        best = float(one.abc(one.best_order(test), test))
        scale = 1e-9 * float(np.abs(one.values).max()) * len(cards)
        assert found[f"{test}-abc"] == pytest.approx(float(area), abs=scale), test
        assert found[f"{test}-share"] == pytest.approx(float(area) / best, rel=1e-6, abs=scale / abs(best)), test


def centre(page: Any, card: int) -> tuple[float, float]:
    """The middle of a card on the screen, once it has stood still for three frames."""
    x, y = page.evaluate("""async ([figure, card]) => {
        const grip = document.querySelector(`${figure} [data-card="${card}"]`);
        const list = grip.closest("ol");
        list.scrollIntoView({ block: "center", behavior: "instant" });
        const frame = () => new Promise(done => requestAnimationFrame(done));
        for (let still = 0, before = ""; still < 3; ) {
            await frame();
            const now = JSON.stringify(grip.getBoundingClientRect());
            still = now === before ? still + 1 : 0;
            before = now;
        }
        const box = grip.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }""", [CARDS, card])  # fmt: skip
    return x, y


def test_starts_in_feature_order_with_pythons_scores(page: Any) -> None:
    check_scores(page, HOUSE, (0, 1, 2))


def drag(page: Any, card: int, *over: int, steps: int = 4) -> None:
    """Take a card and hold it over others, one after the other; the button stays down."""
    page.mouse.move(*centre(page, card))
    page.mouse.down()
    page.wait_for_selector(f'{CARDS} .play-dragged [data-card="{card}"]')
    for other in over:
        page.mouse.move(*centre(page, other), steps=steps)


def test_drag_by_mouse(page: Any) -> None:
    drag(page, 2, 0)
    wait_order(page, 2, 0, 1)
    page.mouse.move(*centre(page, 1), steps=3)  # back in one go: which lies last now
    check_scores(page, HOUSE, (0, 1, 2))
    page.mouse.up()
    drag(page, 0, 2)
    check_scores(page, HOUSE, (1, 2, 0))  # at once, while the button is still down
    page.mouse.up()
    page.wait_for_selector(f"{CARDS} .play-dragged", state="detached")
    page.mouse.move(*centre(page, 1))  # the card was let go: it does not follow
    page.locator(f'{CARDS} [data-lay="best"]').hover()
    check_scores(page, HOUSE, (1, 2, 0))


POINTER = """([figure, type, pointer, card, over]) => {
    const grip = document.querySelector(`${figure} [data-card="${card}"]`);
    grip.closest("ol").scrollIntoView({ block: "center", behavior: "instant" });
    const box = document.querySelector(`${figure} [data-card="${over}"]`).getBoundingClientRect();
    const place = { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
    const held = { button: type === "pointermove" ? -1 : 0, buttons: type === "pointerup" ? 0 : 1 };
    grip.dispatchEvent(new PointerEvent(type, { pointerId: pointer, pointerType: "touch", isPrimary: pointer === 7,
        bubbles: true, cancelable: true, composed: true, ...place, ...held }));
}"""


def touch(page: Any, type_: str, card: int, over: int, finger: int = 7) -> None:
    """Send what a finger on `card` sends while it is over another one; events go to where the finger came down."""
    page.evaluate(POINTER, [CARDS, type_, finger, card, over])


def test_drag_by_touch(page: Any) -> None:
    touch(page, "pointerdown", 0, 0)
    page.wait_for_selector(f'{CARDS} .play-dragged [data-card="0"]')
    touch(page, "pointerdown", 2, 2, finger=8)  # only the first finger drags
    touch(page, "pointermove", 2, 1, finger=8)  # over another card than the one that is held
    wait_order(page, 0, 1, 2)
    for other, order, end in ((1, (1, 0, 2), ""), (2, (1, 2, 0), "pointerup"), (1, (1, 2, 0), "")):
        touch(page, "pointermove", 0, other)  # the last time after the finger has gone
        check_scores(page, HOUSE, order)
        if end:
            touch(page, end, 0, 0)
            page.wait_for_selector(f"{CARDS} .play-dragged", state="detached")


def test_a_cancelled_drag_ends(page: Any) -> None:
    touch(page, "pointerdown", 0, 0)
    touch(page, "pointermove", 0, 1)
    wait_order(page, 1, 0, 2)
    touch(page, "pointercancel", 0, 0)
    page.wait_for_selector(f"{CARDS} .play-dragged", state="detached")
    touch(page, "pointermove", 0, 2)
    wait_order(page, 1, 0, 2)


def test_a_finger_on_a_card_does_not_scroll_the_page(page: Any) -> None:
    style = f"getComputedStyle(document.querySelector('{CARDS} .play-grip')).touchAction"
    assert page.evaluate(style) == "none"
    aside = f"getComputedStyle(document.querySelector('{CARDS} [data-by]')).touchAction"
    assert page.evaluate(aside) == "auto"


def test_keyboard_moves_the_card_that_has_the_focus(page: Any) -> None:
    page.locator(f'{CARDS} [data-card="0"]').focus()
    steps = [("ArrowRight", (1, 0, 2)), ("ArrowDown", (1, 2, 0)), ("ArrowRight", (1, 2, 0)), ("ArrowLeft", (1, 0, 2)),
             ("ArrowUp", (0, 1, 2)), ("End", (1, 2, 0)), ("Home", (0, 1, 2))]  # fmt: skip
    for key, cards in steps:
        page.keyboard.press(key)
        check_scores(page, HOUSE, cards)
        page.wait_for_function("document.activeElement.dataset.card === '0'")
    for card in (1, 2):  # every card is a stop of the tab key
        page.keyboard.press("Tab")
        page.wait_for_function(f"document.activeElement.dataset.card === '{card}'")


def test_move_buttons(page: Any) -> None:
    later = page.get_by_role("button", name="Move garden later")
    later.click()
    check_scores(page, HOUSE, (0, 2, 1))
    page.wait_for_function("button => button.ariaDisabled === 'true'", arg=later.element_handle())
    later.click(force=True)  # it is last already: nothing happens, and nothing breaks
    page.get_by_role("button", name="Move metro earlier").click()
    check_scores(page, HOUSE, (2, 0, 1))


def test_the_score_is_announced(page: Any) -> None:
    status = page.locator(f"{CARDS} [role=status]")
    assert status.get_attribute("aria-live") == "polite"
    page.locator(f'{CARDS} [data-lay="best"]').click()
    said = "([figure, text]) => document.querySelector(`${figure} [role=status]`).textContent.includes(text)"
    page.wait_for_function(said, arg=[CARDS, "(100.0 % of the best)"])
    page.wait_for_function(said, arg=[CARDS, "You beat the Shapley order"])
    page.locator(f'{CARDS} [data-lay="kernel_shap"]').click()
    page.wait_for_function(said, arg=[CARDS, "draw with the Shapley order"])


def choose_board(page: Any, number: int) -> dict[str, Any]:
    board = boards(page)[number]
    page.locator(f"{CARDS} select").select_option(str(number))
    wait_order(page, *range(len(board["names"])))
    return board


@pytest.mark.parametrize("number", range(4))
def test_buttons_lay_the_orders_that_python_found(page: Any, number: int) -> None:
    deal = choose_board(page, number)["deals"][0]
    one = lattice(deal)
    for test in ("insertion", "deletion", "both"):
        page.locator(f'{CARDS} input[value="{test}"]').check()
        for button in ("kernel_shap", "integrated_gradients", "lime", "greedy", "best"):
            page.locator(f'{CARDS} [data-lay="{button}"]').click()
            check_scores(page, one, deal["orders"][button][test])
        assert read(page, CARDS)[f"{test}-share"] == pytest.approx(1)


def test_boards_have_the_promised_sizes_and_the_shapley_button_sorts_by_shapley_value(page: Any) -> None:
    assert [len(board["names"]) for board in boards(page)] == [3, 3, 12, 16, 3]
    for board in boards(page):
        for deal in board["deals"]:
            shapley = lattice(deal).shapley()[deal["orders"]["kernel_shap"]["insertion"]]
            assert (np.diff(shapley) <= 1e-6 * np.abs(shapley).max()).all(), board["title"]


def test_sixteen_cards_can_be_dragged_and_shuffled(page: Any) -> None:
    one = lattice(choose_board(page, 3)["deals"][0])
    drag(page, 0, 9, steps=10)
    check_scores(page, one, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 10, 11, 12, 13, 14, 15])
    page.mouse.up()
    page.locator(f'{CARDS} [data-lay="random"]').click()
    other = "([figure, old]) => document.querySelector(figure).dataset.order !== old"
    page.wait_for_function(other, arg=[CARDS, ",".join(map(str, range(16)))])
    cards = [int(k) for k in page.locator(CARDS).get_attribute("data-order").split(",")]
    assert sorted(cards) == list(range(16))
    check_scores(page, one, cards)


def test_the_slider_for_a_changes_the_game(page: Any) -> None:
    slider = page.locator(f"{CARDS} input[type=range]")
    slider.wait_for(state="hidden")  # other boards have none
    board = choose_board(page, 4)
    slider.wait_for(state="visible")
    page.locator(f'{CARDS} [data-lay="best"]').click()
    wait_order(page, 0, 2, 1)
    last = len(board["positions"]) - 1
    for key, position in (("Home", 0), ("ArrowRight", 1), ("End", last)):
        slider.press(key)
        wait_data(page, CARDS, "position", str(position))
        f, x, reference, _ = game({(1,): 3, (2,): 2, (3,): 1, (1, 2): board["positions"][position]})
        found = insdel.abc(insdel.curve(f, x, reference, np.array([0, 2, 1])))  # the cards stay
        assert read(page, CARDS)["insertion-abc"] == pytest.approx(float(found), abs=1e-5)
    assert board["positions"][0] < -4 and board["positions"][last] > -1  # where the best order is another one
    page.locator(f'{CARDS} [data-lay="best"]').click()
    wait_order(page, 0, 1, 2)


def check_game(page: Any, dividends: list[float]) -> None:
    """Shapley values, AUC and ABC of all six orders are those that Python computes from the dividends."""
    wait_data(page, GAME, "dividends", ",".join(f"{delta:g}" for delta in dividends))
    subsets = [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
    f, x, reference, _ = game(dict(zip(subsets, dividends, strict=True)), n=3)
    one, found = insdel.Lattice.evaluate(f, x, reference), read(page, GAME)
    for j in range(3):
        assert found[f"shapley-{j + 1}"] == pytest.approx(float(one.shapley()[j]), abs=1e-9)
    for order in permutations(range(3)):
        name = "".join(str(j + 1) for j in order)
        assert found[f"auc-{name}"] == pytest.approx(float(insdel.auc(one.curve(np.array(order)))), abs=1e-9)
        assert found[f"abc-{name}"] == pytest.approx(float(one.abc(np.array(order))), abs=1e-9)


def test_sliders_of_the_game(page: Any) -> None:
    dividends = [3.0, 2, 1, -1.5, 0, 0, 0]
    check_game(page, dividends)
    for k, (subset, delta) in enumerate({"1": -2.0, "2": 4.5, "3": 0.25, "12": 6, "13": -6, "23": 1, "123": 3}.items()):
        pull = "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); }"
        page.locator(f'{GAME} [data-subset="{subset}"]').evaluate(pull, delta)
        dividends[k] = delta
        check_game(page, dividends)
    page.locator(f'{GAME} [data-subset="12"]').press("ArrowLeft")
    dividends[3] = 5.75
    check_game(page, dividends)


def test_curves_and_marks_follow_the_game(page: Any) -> None:
    def marked() -> dict[str, str]:
        rows = page.locator(f"{GAME} table").nth(1).locator("tbody tr").all()
        texts = [row.locator("th, td").all_inner_texts() for row in rows]
        return {text[0]: text[3] for text in texts if text[3]}

    check_game(page, [3, 2, 1, -1.5, 0, 0, 0])
    assert marked() == {"1, 2, 3": "Shapley", "1, 3, 2": "best"}
    points = f"[...document.querySelectorAll('{GAME} polyline')].map(line => line.getAttribute('points')).join(';')"
    before = page.evaluate(points)
    page.get_by_role("button", name="no interaction").click()
    check_game(page, [3, 2, 1, 0, 0, 0, 0])
    assert marked() == {"1, 2, 3": "best, Shapley"}
    page.wait_for_function(f"before => {points} !== before", arg=before)
    assert page.locator(f"{GAME} polyline").count() >= 6


def test_every_board_fits_a_phone_when_the_window_becomes_one(page: Any) -> None:
    size = f"document.querySelector('{CARDS} svg').viewBox.baseVal.width"
    assert page.evaluate(size) > 500
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(f"{size} < 391")
    wide = """() => [...document.querySelectorAll('.play, .play *')]
        .filter(e => e.getBoundingClientRect().right > 391).map(e => e.outerHTML.slice(0, 80))"""
    for number in range(5):
        choose_board(page, number)
        page.locator(f'{CARDS} [data-lay="random"]').click()
        page.wait_for_function(f"({wide})().length === 0")
        page.wait_for_function("document.documentElement.scrollWidth <= 390")


def test_colours_change_with_the_theme(page: Any) -> None:
    colour = f"getComputedStyle(document.querySelector('{CARDS} polyline')).stroke"
    light = page.evaluate(colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(f"light => {colour} !== light", arg=light)
    ground = f"getComputedStyle(document.querySelector('{CARDS}').parentElement).backgroundColor"
    page.wait_for_function(f"{ground} === 'rgba(0, 0, 0, 0)'")  # the page's own shines through


def test_the_still_pictures_are_folded_away_but_at_hand(page: Any) -> None:
    picture = page.locator("#fig-play-boards img")
    picture.wait_for(state="hidden")
    page.locator("details.play-still summary").first.click()
    picture.wait_for(state="visible")


def test_without_scripts_the_still_pictures_are_shown(open_page: Any) -> None:
    page = open_page(PLAY, scripts=False)
    for name in ("fig-play-boards", "fig-play-game"):
        page.locator(f"#{name} img").wait_for(state="visible", timeout=PATIENCE)
    page.locator(".play-note").first.wait_for(state="visible", timeout=PATIENCE)
    assert page.locator(".play-cards").count() == 0


@pytest.fixture
def complaints(browser: Any) -> Iterator[tuple[Any, list[str]]]:
    """A page, and the list of errors that its console gets."""
    context = browser.new_context()
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page, errors
    context.close()


def test_works_from_a_file_without_a_server(complaints: tuple[Any, list[str]], real_book: Path) -> None:
    page, errors = complaints
    page.goto((real_book / PLAY).as_uri(), wait_until="load", timeout=LOADING)
    settle(page)
    page.locator(f'{CARDS} [data-card="0"]').focus()
    page.keyboard.press("End")
    check_scores(page, HOUSE, (1, 2, 0))
    assert not errors
    assert (real_book / PLAY).stat().st_size < 1_500_000


def test_no_console_error_on_any_page(complaints: tuple[Any, list[str]], real_book: Path, address: str) -> None:
    page, errors = complaints
    found = [path.relative_to(real_book).as_posix() for path in sorted(real_book.rglob("*.html"))]
    paths = [path for path in found if "_static" not in path and "http-equiv" not in (real_book / path).read_text()]
    assert PLAY in paths and "search.html" in paths
    wrong = {}
    for path in paths:
        page.goto(f"{address}/{path}", wait_until="load", timeout=LOADING)
        page.evaluate("async () => { await document.fonts.ready; await window.MathJax?.startup?.promise; }")
        if errors:
            wrong[path] = list(errors)
            errors.clear()
    assert not wrong


def test_a_planted_console_error_is_noticed(complaints: tuple[Any, list[str]], address: str) -> None:
    page, errors = complaints
    page.goto(f"{address}/{PLAY}", wait_until="load", timeout=LOADING)
    with page.expect_console_message(lambda message: message.text == "planted", timeout=PATIENCE):
        page.evaluate("console.error('planted')")
    assert errors == ["planted"]
