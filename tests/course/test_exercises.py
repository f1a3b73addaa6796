"""Every exercise: its solution passes, its starter and all its mistakes fail with the words that help."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import ROOT
from course.exercises import CHAPTERS, EXERCISES, TOPICS, Exercise, check, draw, example, feedback, figures, find
from course.exercises.base import REGISTERED, exercise
from course.exercises.grading import WIDTH, WrongAnswer, same, show
from course.notebooks import SETUP
from matplotlib.figure import Figure

from insdel_book.chapters import list_chapters

each = pytest.mark.parametrize("one", EXERCISES.values(), ids=EXERCISES)
MISTAKES = [(one.name, message) for one in EXERCISES.values() for message in one.task.mistakes]


def compiled(source: str, name: str) -> Any:
    """The function that a student's cell defines, after the notebook's first cell."""
    space: dict[str, Any] = {}
    exec(SETUP, space)
    exec(source, space)
    return space[name]


def words(text: str) -> str:
    """A text without its line breaks and columns."""
    return " ".join(text.split())


def test_there_are_enough_and_every_topic_has_some() -> None:
    assert len(EXERCISES) >= 24
    assert {one.topic for one in EXERCISES.values()} == set(TOPICS)
    assert {one.chapter for one in EXERCISES.values()} == set(CHAPTERS)


@each
def test_the_solution_passes_and_the_starter_fails_with_advice_and_without_the_answer(one: Exercise) -> None:
    assert feedback(one.name, one.solution).text == f"{one.name}: right, in all {len(one.task.cases)} cases."
    assert "SOLUTION" not in one.solved and feedback(one.name, compiled(one.solved, one.name))
    verdict = feedback(one.name, compiled(one.starter, one.name))
    assert not verdict and "there is no answer yet. Write yours in place of" in words(verdict.text)
    assert one.starter.count("# YOUR CODE HERE") == 1 and '"""' in one.starter
    lines = {line.strip() for line in one.body.splitlines() if len(line.strip()) > 12}
    assert lines and not any(line in one.starter + one.prompt for line in lines)


@pytest.mark.parametrize(("name", "message"), MISTAKES)
def test_every_mistake_is_told_by_its_name(name: str, message: str) -> None:
    verdict = feedback(name, find(name).task.mistakes[message])
    assert not verdict
    assert f"{name}, not yet: {message} in the case {name}(" in words(verdict.text)
    assert max(map(len, verdict.text.splitlines())) <= WIDTH


@each
def test_mistakes_can_be_told_apart(one: Exercise) -> None:
    assert len(one.task.mistakes) >= 2
    outputs = {m: [wrong(*deepcopy(case)) for case in one.task.cases] for m, wrong in one.task.mistakes.items()}
    for (first, a), (second, b) in combinations(outputs.items(), 2):
        assert not all(same(p, q) for p, q in zip(a, b, strict=True)), (first, second)


@each
def test_one_right_case_is_not_enough_and_a_small_error_is_found(one: Exercise) -> None:
    """The expected result of the case that students see, returned always, must fail."""
    shown = one.task.truth(*example(one.name))
    assert not feedback(one.name, lambda *_: shown)
    assert not feedback(one.name, lambda *case: np.asarray(one.solution(*case), dtype=float) + 1e-3)


@each
def test_what_is_shown_is_what_the_solution_gives(one: Exercise) -> None:
    case, result = words(one.expected).split(" → ")
    assert case.startswith(f"{one.name}({one.task.parameters[0]}=") and case.endswith(")")
    assert result == words(show(one.solution(*example(one.name))))
    assert max(map(len, one.expected.splitlines())) <= WIDTH
    assert same(one.solution(*example(one.name)), one.task.truth(*example(one.name)))


@pytest.mark.parametrize("name", [name for name, one in EXERCISES.items() if one.figure])
def test_figures_draw_the_answer_and_leave_nothing_open(name: str) -> None:
    before = plt.get_fignums()
    assert isinstance(draw(name, find(name).solution), Figure)
    assert plt.get_fignums() == before
    with pytest.raises(WrongAnswer, match="no answer yet"):
        draw(name, compiled(find(name).starter, name))


def test_check_prints_or_raises(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("aul", find("aul").solution) is None
    assert capsys.readouterr().out == "aul: right, in all 3 cases.\n"
    with pytest.raises(WrongAnswer, match="you forgot the ½"):
        check("aul", lambda values: len(values) * (values[0] + values[-1]))


def test_examples_are_copies() -> None:
    example("hybrid")[0][:] = -1
    assert (example("hybrid")[0] >= 0).all()


def test_an_unknown_name_is_refused_with_a_guess() -> None:
    with pytest.raises(ValueError, match="Did you mean 'curve'"):
        find("curves")
    with pytest.raises(ValueError, match="'aul' has no figure"):
        draw("aul", find("aul").solution)


def test_an_exercise_needs_a_chapter_and_its_marks() -> None:
    with pytest.raises(ValueError, match="label"):
        exercise("t", chapter="nowhere", prompt="", truth=abs, cases=list, mistakes={})
    with pytest.raises(ValueError, match="needs its solution once"):
        exercise("t", chapter="walk", prompt="", truth=abs, cases=list, mistakes={})(test_examples_are_copies)
    assert "test_examples_are_copies" not in REGISTERED


def test_chapters_have_these_labels_and_titles() -> None:
    assert CHAPTERS.items() <= dict(chapter.heading for chapter in list_chapters(ROOT)).items()


# --- figures draw what they are given, and say on their axes what that is

def test_lines_are_drawn_with_their_labels_and_markers_for_few_points() -> None:
    figure = figures.exercise_lines([1, 2, 3], {"a": [4, 5, 6], "b": [1, 1, 1]}, "size", "place")
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines] == ["a", "b"] and axes.get_xlabel() == "size"
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [4, 5, 6])
    assert axes.lines[0].get_marker() == "o"
    many = figures.exercise_lines(np.arange(50), {"a": np.arange(50)}, "size", "place")
    assert many.axes[0].lines[0].get_marker() == "" and not plt.get_fignums()


def test_errors_stand_beside_their_labels_first_on_top() -> None:
    axes = figures.exercise_errors(["paired", "unpaired"], [1.0, 1.0], [0.1, 0.5], "difference").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["paired", "unpaired"]
    assert list(axes.get_yticks()) == [1, 0]
    lengths = [np.ptp(part[:, 0]) for part in axes.collections[0].get_segments()]
    np.testing.assert_allclose(lengths, [0.2, 1.0])


def test_pictures_have_their_titles() -> None:
    figure = figures.exercise_pictures({"grey": np.eye(3), "colour": np.zeros((3, 3, 3))})
    assert [axes.get_title() for axes in figure.axes] == ["grey", "colour"]
    assert figure.axes[0].images[0].get_array().shape == (3, 3)
