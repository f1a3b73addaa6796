"""What an exercise is: a solved function, from which all that a student gets is made.

The solution is the source. It stands between two marks in a function whose first lines, signature and
docstring, are the student's starter code.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from matplotlib.figure import Figure

from course.exercises.grading import STUB, Answer, Task, call_text, fold, show

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"  # nbgrader's marks
SOLUTION = re.compile(rf"^( *){BEGIN}\n(.*?)^ *{END}$", re.MULTILINE | re.DOTALL)
CHAPTERS = {
    "walk": "Walk from x to x′",
    "split": "Split a prediction into parts",
    "shuffle": "Shuffle the order",
    "not-best": "See why Shapley is not the best order",
    "best": "Find out when Shapley is the best order",
    "binary": "Extend integrated gradients to binary features",
    "data-models": "Meet the data, the networks and the pairs",
    "bangalore": "Compare rankings on houses in Bangalore",
    "cern": "Weigh electron pairs three ways",
    "images": "Take a photo apart, pixel by pixel",
    "roar": "Remove features and train again",
}
REGISTERED: dict[str, Exercise] = {}
F = TypeVar("F", bound=Answer)


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    title : what is to be done, in a few words
    chapter : label of the chapter that it belongs to
    topic : name of the notebook that it is in
    prompt : the question, in Markdown
    solution, source : the solved function, and its text with the marks
    task : what an answer is measured by
    points : how much it counts
    figure : draws an answer; None where there is nothing to draw
    """

    title: str
    chapter: str
    topic: str
    prompt: str
    solution: Answer
    source: str
    task: Task
    points: int
    figure: Callable[[Answer], Figure] | None

    @property
    def name(self) -> str:
        """Name of the function that is asked for."""
        return self.task.name

    @property
    def starter(self) -> str:
        """The student's code: the source with the stub in place of the solution."""
        return SOLUTION.sub(lambda match: textwrap.indent(STUB, match[1]), self.source)

    @property
    def body(self) -> str:
        """The solution alone, as it stands between the marks."""
        match = SOLUTION.search(self.source)
        return textwrap.dedent(match[2]) if match else ""

    @property
    def solved(self) -> str:
        """The whole function, solved, without the marks."""
        return SOLUTION.sub(lambda match: match[2].rstrip("\n"), self.source)

    @property
    def expected(self) -> str:
        """The first case and what it should give, for a student to aim at."""
        case = self.task.cases[0]
        return fold(f"{call_text(self.task, case)}\n→ {show(self.task.truth(*case))}")


def exercise(
    title: str,
    *,
    chapter: str,
    prompt: str,
    truth: Answer,
    cases: Callable[[], Sequence[tuple[Any, ...]]],
    mistakes: Mapping[str, Answer],
    points: int = 2,
    figure: Callable[[Answer], Figure] | None = None,
) -> Callable[[F], F]:
    """Make an exercise of the decorated function, which holds its solution between the two marks."""
    if chapter not in CHAPTERS:
        raise ValueError(f"an exercise needs a chapter's label, one of {', '.join(CHAPTERS)}; found {chapter!r}.")

    def register(solution: F) -> F:
        name, source = solution.__name__, function_text(solution)
        if len(SOLUTION.findall(source)) != 1:
            raise ValueError(f"exercise {name!r} needs its solution once, between {BEGIN!r} and {END!r}.")
        task = Task(name, list(inspect.signature(solution).parameters), truth, cases(), mistakes)
        topic = solution.__module__.rpartition(".")[2]
        text = textwrap.dedent(prompt).strip()
        REGISTERED[name] = Exercise(title, chapter, topic, text, solution, source, task, points, figure)
        return solution

    return register


def function_text(function: Answer) -> str:
    """Return the text of a function without its decorators."""
    text = textwrap.dedent(inspect.getsource(function))
    node = ast.parse(text).body[0]
    return "\n".join(text.rstrip().splitlines()[getattr(node, "lineno", 1) - 1 :])
