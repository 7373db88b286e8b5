"""Public names that take no private data, each with the reason; every other one has scenarios in `calls_*.py`."""

from __future__ import annotations

__all__ = ["WITHOUT_DATA"]

_BY_REASON = {
    "declares what is public: an alphabet, a mechanism, a rule, a cap, a key": """
        Alphabet.code_of Alphabet.with_rule Domain Domain.bins Domain.of Domain.product Domain.range ExponentialResponse
        MatrixResponse RandomisedResponse Stratified Policy Policy.load Policy.plan_schema Privacy Rules.rule Stream
        Stream.insecure kernels.response kernels.levels kernels.law ComputedStrata.__call__ kernels.ComputedStrata
        kernels.Statistic optimal_response duff.Grid etl.ledger.create_ledger Ledger""",
    "figures of a mechanism, a policy or a sum of them": """
        IntegerMechanism.privacy_loss IntegerMechanism.sufficient_sets Mechanism.certificate Mechanism.delta_at
        Mechanism.epsilon_at Mechanism.expected_changes RandomisedResponse.certificate RandomisedResponse.channel
        RandomisedResponse.delta_at RandomisedResponse.digest RandomisedResponse.epsilon_at RandomisedResponse.expected_changes
        RandomisedResponse.law RandomisedResponse.table TableMechanism.certificate TableMechanism.channel
        TableMechanism.delta_at TableMechanism.digest TableMechanism.epsilon_at TableMechanism.expected_changes
        TableMechanism.law TableMechanism.table Stratified.certificate Stratified.delta_at Stratified.epsilon_at
        Stratified.expected_changes ComputedStrata.delta_at ComputedStrata.epsilon_at Rules.attribute_privacy Rules.certificate
        Rules.describe Rules.privacy compose compose_bounds composed_delta privacy.allocate privacy.response_delta
        privacy.response_epsilon privacy.response_threshold privacy.zcdp_of_exponential race_slack kernels.table
        plots.privacy_error show_config verify""",
    "looks at what was released already": """
        Mechanism.estimate Mechanism.estimate_counts Mechanism.posterior Policy.estimate Estimate Estimate.labels Figures.labels
        Figures.to_arrow Figures.to_pandas change.Change crosstab.CrossTab CrossTab.labels crosstab.crosstab
        crosstab.fit_crosstab estimate_change etl.spark.estimate plots.estimate Report Report.to_json
        Ledger.charge Ledger.check Ledger.entries Ledger.head Ledger.left Ledger.spent Ledger.total etl.ledger.Entry
        Domain.decode report.Explanation report.explain""",
    "gives a source as it is to those who write jobs; the scenarios of jobs go through it": """
        Reader.batches Reader.check_unchanged Source.batches Source.digest SourceFile.check_unchanged SourceFile.digest
        SourceFile.open etl.sources.Reader etl.sources.Source etl.sources.SourceFile""",
    "runs mechanisms on values that it makes up, or that an auditor does": """
        AuditReport.to_dict audit.AuditReport audit.Event audit.Finding audit.audit baselines.datasets plots.errors plots.svg""",
    "graphs of data sets, queries and fixed values are public": """
        DatasetGraph.from_csr DatasetGraph.from_file DatasetGraph.from_networkx DatasetGraph.with_law Extension.why
        InducedLaw.__call__ InducedLaw.bounds InducedLaw.lower Law.__call__ Law.check Rainbow.exact graph.DatasetGraph
        graph.Extension graph.Fixed graph.InducedLaw graph.Law graph.Probabilities graph.Rainbow graph.Why graph.boundary
        graph.extend graph.families.Family graph.families.counting graph.families.hamming graph.families.personalised
        graph.families.product graph.lower graph.optimal_boundary graph.rainbow graph.strongest_condition graph.upper
        graph.verify plots.extension""",
    "random words, or places in a public grid": """
        Stream.bind_source Stream.draws Stream.ids Stream.rows Stream.spend_key kernels.words Grid.index_of Grid.value
        Grid.values Levels.value Levels.values""",
    "the user's own function, or for one cell within it": """
        Statistic.__call__ kernels.respond kernels.MatrixTable kernels.ResponseTable""",
    "needs a cluster: tests/process/spark says what reaches its plans, logs and tasks": (
        "etl.spark.sanitise etl.spark.sanitise_files etl.spark.quantile"
    ),
    "takes public columns only": "ComputedStrata.strata",
    "verbs that read a policy, a graph, a ledger or a release": """
        dpfast+audit dpfast+estimate dpfast+extend dpfast+info dpfast+keygen dpfast+ledger+check dpfast+ledger+create
        dpfast+ledger+show dpfast+plan dpfast+report dpfast+verify""",
}
WITHOUT_DATA = {name.replace("+", " "): reason for reason, names in _BY_REASON.items() for name in names.split()}
