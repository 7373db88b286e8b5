"""The faults of pictures and reports."""

from __future__ import annotations

from faults import Mutant

__all__ = ["MUTANTS"]

PLOTS = "tests/unit/test_plots.py"
REPORT = "tests/unit/test_report.py"

MUTANTS = [
    Mutant(
        "the curve of a policy forgets its delta",
        "dpfast/_plot_data.py",
        "RandomisedResponse(domain, epsilon=float(epsilon), delta=plan.delta)",
        "RandomisedResponse(domain, epsilon=float(epsilon))",
        f"{PLOTS}::test_a_privacy_error_curve_passes_through_the_policy",
    ),
    Mutant(
        "levels are drawn half a step too far to the right",
        "dpfast/_plot_data.py",
        "float(levels.ratio * (levels.origin + end) - half)",
        "float(levels.ratio * (levels.origin + end))",
        f"{PLOTS}::test_levels_are_drawn_with_their_density",
    ),
    Mutant(
        "names in a picture are drawn at random",
        "dpfast/_plot_axes.py",
        '"svg.hashsalt": "dpfast"',
        '"svg.hashsalt": None',
        f"{PLOTS}::test_a_drawing_is_one_text_in_every_process",
    ),
    Mutant(
        "a belief is rounded down",
        "dpfast/_report_words.py",
        'quantize(Decimal("0.1"), ROUND_CEILING)',
        'quantize(Decimal("0.1"), "ROUND_FLOOR")',
        f"{REPORT}::test_a_belief_is_never_rounded_down",
    ),
    Mutant(
        "a release of another policy passes",
        "dpfast/_release.py",
        'certificate.get("policy") != policy.digest.hex()',
        'certificate.get("policy") == ""',
        f"{REPORT}::test_another_policy_is_noticed",
    ),
    Mutant(
        "values stand in the page as markup",
        "dpfast/_report_page.py",
        "    return html.escape(text, quote=False)",
        "    return text",
        f"{REPORT}::test_estimates_on_the_page_are_those_of_the_policy",
    ),
]
