"""The document of a claim, for the support of a provider."""

from __future__ import annotations

from analyzer.analysis.claim import Claim
from analyzer.readable import counted
from analyzer.report.document import Block, Heading, Paragraph, TableBlock
from analyzer.report.rows import plain_heading, shown

_TITLES = {
    "outages": "Outages: three failures or more of two sessions or more, each within 15 minutes of the one before",
    "resets": "Limits: when they were stated to end, and when the next answer came",
    "incidents": "Incidents of your status page during which they happened",
    "failures": "Failures",
}


def claim_document(claim: Claim) -> list[Block]:
    """Make the page of a claim: what it comes to, then the tables."""
    failures, cost = claim.failures, claim.failures["cost_usd"].sum()
    moments = failures["occurred_at"]
    sentences = f"{counted(failures.height, 'request')} to {claim.provider} failed by the provider's fault"
    if failures.height:
        sentences += f", from {moments[0]:%Y-%m-%d %H:%M} to {moments[-1]:%Y-%m-%d %H:%M} UTC"
        waited = failures["waited_seconds"].sum()
        sentences += f"; retries waited {waited:,.0f} s. {claim.without_id:,} of them have no request id in the log"
    basis = (
        f"The list price of their tokens is ${cost:,.2f}. It counts only failed requests whose log states their tokens"
        " and no error status, since a request that is answered with an error status costs nothing. Failures of the"
        " network, the account or the request itself are not in this claim."
    )
    blocks: list[Block] = [Heading(f"Claim to {claim.provider}"), Paragraph(f"{sentences}."), Paragraph(basis)]
    for name, title in _TITLES.items():
        frame = getattr(claim, name)
        if frame.height:
            rows = [
                [shown(column, value) for column, value in zip(frame.columns, row, strict=True)] for row in frame.rows()
            ]
            blocks.append(TableBlock([plain_heading(column) for column in frame.columns], rows, title=title))
    return blocks
