"""Makes the README's pictures from a run: pfedgp simulate --out RUN && python docs/make_images.py RUN."""

import argparse
from pathlib import Path

from pfedgp_core.files.csv_text import split_names
from pfedgp_core.metrics.classification import MetricSums
from server.report.drawing import Drawing
from server.report.figures import reliability
from server.report.html.run_files import RunFiles, read_run

IMAGES = Path(__file__).resolve().parent / "images"
SITES = (("hospital A", "classes 3, 7"), ("hospital B", "classes 1, 4"), ("factory C", "classes 0, 8"))


def federation() -> Drawing:
    """A server, three clients, and what travels between them."""
    drawing = Drawing(820, 330, "The server sends the shared network to its clients; each sends back an updated one")
    drawing.rect(20, 105, 205, 120, "panel", stroke="accent")
    drawing.text(122, 131, "server", fill="ink", size=16, anchor="middle")
    for i, line in enumerate(
        ("draws clients for a round", "checks every reply", "averages the updates", "keeps the best")
    ):
        drawing.text(122, 153 + 18 * i, line, size=13, anchor="middle")
    for i, (name, classes) in enumerate(SITES):
        top = 15 + 105 * i
        drawing.rect(445, top, 355, 90, "panel", stroke="grid")
        drawing.text(460, top + 22, name, fill="ink", size=15)
        drawing.text(788, top + 22, f"own data: {classes}", size=13, anchor="end")
        for j, step in enumerate(
            ("shared\nnetwork", "tree of its\nclasses", "GP at each\nnode", "personal\nclassifier")
        ):
            x = 460 + 84 * j
            drawing.rect(x, top + 34, 74, 44, "surface", stroke="accent" if j == 0 else "warn")
            for k, word in enumerate(step.split("\n")):
                drawing.text(x + 37, top + 52 + 15 * k, word, fill="ink", size=11.5, anchor="middle")
            if j:
                _arrow(drawing, (x - 10, top + 56), (x - 1, top + 56), "muted")
        middle = top + 45
        _arrow(drawing, (225, 132 + 30 * i), (444, middle - 9), "accent")
        _arrow(drawing, (444, middle + 9), (226, 146 + 30 * i), "accent")
    drawing.text(330, 30, "shared network", fill="accent", size=13, anchor="middle")
    drawing.text(330, 47, "down and back", fill="accent", size=13, anchor="middle")
    drawing.text(330, 290, "data, classifiers and", fill="warn", size=13, anchor="middle")
    drawing.text(330, 307, "predictions stay", fill="warn", size=13, anchor="middle")
    return drawing


def result(run: RunFiles) -> Drawing:
    """Accuracy and mean confidence of every client, beside the reliability diagram at the model's temperature."""
    assert run.calibration is not None
    assert run.calibration.model_temperature is not None
    clients = run.calibration.clients
    drawing = Drawing(820, 420, f"Accuracy and confidence of {len(clients)} clients, and a reliability diagram of all")
    drawing.text(20, 28, "Test accuracy of each client, and its mean confidence", fill="ink", size=13)
    classes = {row["name"]: ", ".join(split_names(row["classes"])) for row in run.clients}
    left, wide, top, step = 90.0, 350.0, 44.0, 340.0 / len(clients)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + wide * share
        drawing.line([(x, top), (x, top + step * len(clients))], "grid")
        drawing.text(x, top + step * len(clients) + 16, f"{100 * share:.0f} %", anchor="middle", size=11)
    for i, (name, sums) in enumerate(clients.items()):
        y = top + step * (i + 0.5)
        drawing.text(left - 8, y + 4, f"classes {classes[name]}", anchor="end", size=11)
        drawing.rect(left, y - step * 0.3, wide * sums.correct / sums.n, step * 0.6, "accent", opacity=0.75)
        drawing.dot(left + wide * _confidence(sums), y, 3.5, fill="warn")
    drawing.text(left, top + step * len(clients) + 31, "bar: accuracy, dot: mean confidence at temperature 1", size=11)
    title = f"All clients, temperature {run.calibration.model_temperature:.2g}"
    drawing.place(reliability(title, run.calibration.at_model_temperature), 480, 10)
    return drawing


def _confidence(sums: MetricSums) -> float:
    return float(sums.bin_confidence.sum()) / sums.n


def _arrow(drawing: Drawing, start: tuple[float, float], end: tuple[float, float], role: str) -> None:
    """A line with a head at its end."""
    (x0, y0), (x1, y1) = start, end
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy, head = (x1 - x0) / length, (y1 - y0) / length, min(7.0, length * 0.5)
    drawing.line([start, end], role, width=1.5)
    wings = [(x1 - head * dx + s * 0.5 * head * dy, y1 - head * dy - s * 0.5 * head * dx) for s in (1, -1)]
    drawing.line([wings[0], end, wings[1]], role, width=1.5)


def main() -> None:
    """Write both pictures."""
    parser = argparse.ArgumentParser(description="Draw the README's pictures from the folder of a run.")
    parser.add_argument("run", type=Path)
    run = read_run(parser.parse_args().run)
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / "federation.svg").write_text(federation().svg_file(), encoding="utf-8")
    (IMAGES / "result.svg").write_text(result(run).svg_file(), encoding="utf-8")


if __name__ == "__main__":
    main()
