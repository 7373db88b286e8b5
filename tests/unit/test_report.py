"""The page for a data-protection officer: what it says is so, and it needs nothing but itself."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dpfast
from dpfast import Policy, RandomisedResponse, Stratified, sanitise_file
from dpfast._report_words import belief, factor, number
from dpfast.cli import main
from dpfast.report import explain

CANARY = "canary-5f3a"
VOID = {"meta", "br", "hr", "img", "link", "input"}
BROWSERS = [found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))]
POLICY = """
version = 1
unlisted = "drop"
[columns.town]
domain = ["Bray", "Cork", "<b>Dingle</b>"]
null = true
epsilon = 1.0
[columns.grade]
domain = [1, 2]
epsilon = 0.5
[columns.year]
use = "public"
"""


class Parsed(HTMLParser):
    """Elements, their attributes and their text; it fails where elements are not closed in their order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def says(self, text: str) -> bool:
        return text in " ".join(self.texts["body"])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a policy, a table and its release, and the page of it."""
    folder = tmp_path_factory.mktemp("release")
    n = 1200
    table = pa.table(
        {
            "town": ["Bray", "Cork", None] * (n // 3),
            "grade": [1, 2] * (n // 2),
            "year": [2000] * n,
            "secret": [CANARY] * n,
        }
    )
    pq.write_table(table, folder / "people.parquet")
    (folder / "policy.toml").write_text(POLICY)
    policy = Policy.load(folder / "policy.toml")
    sanitise_file(folder / "people.parquet", folder / "released.parquet", policy)
    return folder, explain(policy, folder / "released.parquet").html


@pytest.fixture(autouse=True)
def folder(release: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(release[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def html(release: tuple[Path, str]) -> str:
    return release[1]


@pytest.fixture
def page(html: str) -> Parsed:
    return Parsed(html)


def test_the_page_says_what_was_done_and_what_it_costs(page: Parsed) -> None:
    assert page.texts["title"] == ["Privacy report: released.parquet"]
    for text in (
        "verifies: epsilon 1.5, delta 0.",
        "1,200 rows",
        "cell by cell: town, grade.",
        "not protected: year.",
        "all other columns",
        "e^1.5 = 4.49 times",
        "replace_one",
        "differ in one row alone",
        "known to nobody",
        "What is not promised",
        "whether the key stayed secret".capitalize(),
    ):
        assert page.says(text), text
    cells = page.texts["td"]
    town = cells.index("town")
    assert cells[town + 2 : town + 7] == ["4", "1", "0", "47.54 %", "3.6 %"]
    assert CANARY not in "".join(page.texts["body"])


def test_beliefs_are_those_of_the_pure_epsilon_rounded_up(page: Parsed) -> None:
    cells = page.texts["td"]
    whole = cells.index("a whole person (one row)")
    # e^1.5 p / (1 - p + e^1.5 p) is 0.04331, 0.33243 and 0.81757
    assert cells[whole + 1 : whole + 4] == ["4.4 %", "33.3 %", "81.8 %"]
    grade = cells.index("grade, of one row, all else known")
    assert cells[grade + 3] == "62.3 %"


@pytest.mark.parametrize(
    ("prior", "epsilon", "shown"),
    [(0.5, 0.0, "50.1 %"), (0.01, 100.0, "over 99.9 %"), (0.5, 6.0, "99.8 %"), (0.1, float("inf"), "no bound")],
)
def test_a_belief_is_never_rounded_down(prior: float, epsilon: float, shown: str) -> None:
    assert belief(prior, epsilon) == shown


def test_figures_are_rounded_up() -> None:
    assert number(1.0000001) == "1.00001"
    assert number(0.1) == "0.1"
    assert number(math.nextafter(0.1, 1.0)) == "0.100001"
    assert number(0.0) == "0"
    assert number(1.0000001e-9) == "1.00001e-9"
    assert number(float("inf")) == "infinite"
    assert factor(1.0) == "2.72"
    assert factor(2.0) == "7.39"
    assert factor(1.1) == "3.01"
    assert factor(1e4) == "more than 10^300"


def test_estimates_on_the_page_are_those_of_the_policy(page: Parsed) -> None:
    policy = Policy.load("policy.toml")
    estimate = policy.estimate("released.parquet", "town")
    cells = page.texts["td"]
    for value, share, error in zip(
        ["Bray", "Cork", "<b>Dingle</b>", "(null)"], estimate.frequency, estimate.standard_error, strict=True
    ):
        place = cells.index(value)
        assert cells[place + 2] == f"{100 * share:.2f} %".replace(".00 %", " %")
        assert cells[place + 3] == f"{100 * error:.2f} %".replace(".00 %", " %")


def test_the_page_needs_nothing_but_itself(html: str, page: Parsed) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignobject", "image", "b", "a"}
    ids = [attributes["id"] for _, attributes in page.elements if attributes.get("id")]
    assert len(ids) == len(set(ids)) > 10
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("href", "xlink:href", "src", "srcset", "data", "action"):
                assert (value or "").removeprefix("#") in ids
            for target in re.findall(r"url\(([^)]*)\)", value or ""):
                assert target.removeprefix("#") in ids
    assert "://" not in html
    assert "@import" not in html
    assert [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a] == [
        "default-src 'none'; style-src 'unsafe-inline'"
    ]
    assert sum(tag == "svg" for tag, _ in page.elements) == 3
    assert all(a.get("aria-label") for tag, a in page.elements if tag == "svg")
    assert html == explain(Policy.load("policy.toml"), "released.parquet").html


def test_a_certificate_that_does_not_hold_is_said_in_red(page: Parsed) -> None:
    table = pq.read_table("released.parquet")
    pq.write_table(table.replace_schema_metadata(None), "bare.parquet")
    explained = explain(Policy.load("policy.toml"), "bare.parquet")
    assert explained.problem is not None
    assert "holds no certificate" in explained.problem
    found = Parsed(explained.html)
    assert ("p", {"class": "bad"}) in found.elements
    assert ("p", {"class": "good"}) not in found.elements
    assert found.says("does NOT verify")
    assert ("p", {"class": "good"}) in page.elements


def test_another_policy_is_noticed() -> None:
    Path("policy.toml").write_text(POLICY.replace("epsilon = 0.5", "epsilon = 0.6"))
    assert explain(Policy.load("policy.toml"), "released.parquet").problem is not None
    Path("policy.toml").write_text(POLICY.replace('unlisted = "drop"', 'unlisted = "public"'))
    assert explain(Policy.load("policy.toml"), "released.parquet").problem == "the file was made by another policy"


def test_cells_that_no_policy_declares_are_no_release() -> None:
    pq.write_table(pa.table({"town": [CANARY], "grade": [1], "year": [1]}), "raw.parquet")
    with pytest.raises(dpfast.OutsideDomainError) as caught:
        explain(Policy.load("policy.toml"), "raw.parquet")
    assert CANARY not in str(caught.value)


def test_permanent_noise_is_named() -> None:
    policy = Policy({"x": RandomisedResponse(["a", "b"], epsilon=1.0), "id": "public"})
    pq.write_table(pa.table({"x": ["a", "b"], "id": [1, 2]}), "x.parquet")
    assert main(["keygen", "k.key"]) == 0
    sanitise_file("x.parquet", "keyed.parquet", policy, key="k.key", context="c", ids="id")
    keyed = Parsed(explain(policy, "keyed.parquet").html)
    assert keyed.says("under a secret key")
    assert keyed.says("The noise of a row is permanent")
    assert keyed.says("Whether the ids are unique.")


def test_joint_and_stratified_columns_have_their_rows() -> None:
    pair = RandomisedResponse(dpfast.Domain.product(["a", "b"], [1, 2]), epsilon=2.0)
    by = Stratified("s", {"x": RandomisedResponse(["n", "y"], epsilon=0.5), "z": RandomisedResponse(["n", "y"], epsilon=1.0)})
    policy = Policy({"c": by, "s": "public"}, joint={("p", "q"): pair}, rows_per_person=2)
    table = pa.table({"p": ["a", "b"] * 500, "q": [1, 2] * 500, "c": ["n"] * 1000, "s": ["x", "z"] * 500})
    pq.write_table(table, "j.parquet")
    sanitise_file("j.parquet", "jr.parquet", policy)
    found = Parsed(explain(policy, "jr.parquet", confidence=0.9, population=False, title="Ours & theirs").html)
    assert found.texts["h1"] == ["Ours & theirs"]
    assert {"c where s is x", "c where s is z", "p, q"} <= set(found.texts["h3"])
    assert found.says("the up to 2 rows of one person")
    assert found.says("2 mechanisms, by the public column s")
    assert found.says("answered together")
    assert found.says("90 % interval")
    assert found.says("about these rows")
    assert {"a, 1", "b, 2"} <= set(found.texts["td"])
    assert found.says("next to nothing") == (policy.privacy().epsilon > 10)


def test_long_domains_are_cut_and_say_so() -> None:
    policy = Policy({"n": RandomisedResponse(range(200), epsilon=3.0)})
    pq.write_table(pa.table({"n": np.arange(2000) % 200}), "n.parquet")
    sanitise_file("n.parquet", "nr.parquet", policy)
    found = Parsed(explain(policy, "nr.parquet").html)
    assert found.says("The 30 largest of 200 are shown.")
    assert sum(tag == "tr" for tag, _ in found.elements) < 60


def test_other_formats_and_empty_tables_are_explained() -> None:
    policy = Policy({"n": RandomisedResponse(["a", "b"], epsilon=3.0)})
    pyarrow.csv.write_csv(pa.table({"n": pa.array([], pa.string())}), "n.csv")
    sanitise_file("n.csv", "nr.csv", policy)
    with pytest.warns(match="nothing can be estimated"):
        found = Parsed(explain(policy, "nr.csv").html)
    assert found.says("0 rows")
    assert found.texts["td"][-4:] == ["0 %", "-", "-", "0 % to 100 %"]


def test_the_command_writes_the_page_and_tells_of_a_bad_certificate(html: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "policy.toml", "released.parquet", "-o", "report.html"]) == 0
    assert Path("report.html").read_text() == html
    assert capsys.readouterr().out == "the certificate holds; report.html explains the release\n"
    assert main(["report", "policy.toml", "released.parquet", "-o", "report.html"]) == 1, "a page that exists is kept"
    pq.write_table(pq.read_table("released.parquet").replace_schema_metadata(None), "bare.parquet")
    assert main(["report", "policy.toml", "bare.parquet", "-o", "report.html", "--overwrite", "--these-rows"]) == 1
    assert "does not verify" in capsys.readouterr().err
    assert "does NOT verify" in Path("report.html").read_text()
    for target in ("policy.toml", "released.parquet"):
        assert main(["report", "policy.toml", "released.parquet", "-o", target, "--overwrite"]) == 1
    assert Path("policy.toml").read_text() == POLICY
    assert main(["report", "policy.toml", "released.parquet"]) == 2


def test_noise_of_a_seed_is_refused_unless_allowed(page: Parsed) -> None:
    command = ["sanitise", "people.parquet", "seeded.parquet", "--policy", "policy.toml", "--insecure-seed", "7"]
    assert main(command) == 0
    policy = Policy.load("policy.toml")
    assert "insecure" in (explain(policy, "seeded.parquet").problem or "")
    allowed = explain(policy, "seeded.parquet", allow_insecure=True)
    assert allowed.problem is None
    assert Parsed(allowed.html).says("Do not publish this table.")
    assert not page.says("Do not publish this table.")


@pytest.mark.parametrize("browser", BROWSERS[:1])
def test_a_browser_shows_the_page(browser: str, html: str) -> None:
    Path("report.html").write_text(html)
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,3000", "--screenshot=page.png"]
    subprocess.run([*command, Path("report.html").absolute().as_uri()], check=True, capture_output=True, timeout=120)
    assert Path("page.png").stat().st_size > 20_000
