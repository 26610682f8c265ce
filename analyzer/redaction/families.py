"""Secrets that have a shape of their own: one row a family, the only list of them.

A pattern is a fixed prefix and a greedy character class, without a required end: a search never reads far past its
match, so that many matches in one text stay linear too.

A trace counts nothing within runs of hexadecimal digits, of which logs are full: each number of digits behind each
beginning would be a state of the prefilter's automaton.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from analyzer.redaction.armour import (
    BEGIN,
    END,
    LINES,
    LINES_TRACE,
    behind_number_of_lines,
    from_first_line,
    from_the_middle,
    up_to_last_line,
)
from analyzer.redaction.values import ALTERNATING, generated_at


class Family(NamedTuple):
    """What one vendor's secrets, or one kind of text with a secret in it, look like."""

    name: str
    """Stands in the mark."""
    pattern: str
    """RE2. Group 1, where there is one, is the secret; else the whole match is."""
    trace: str
    """RE2: what no match is without, in plain text and in JSON: the prefilter. `\\<` is the start of a word."""
    example: str
    """Made up; the secret stands between `⟨` and `⟩`, where one is missing up to the end."""
    source: str
    """Whose knowledge of the shape this is."""
    guard: str = ""
    """What a match must be besides: a name of `values.GUARDS`. Empty: the shape says enough."""
    reach: Callable[[bytes, int, int], tuple[int, int] | None] | None = None
    """Where the secret at a match begins and ends, where no pattern can say it; None for no secret."""


_HEX = "0123456789abcdef" * 8
_ALNUM = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6" * 3
_UPPER = "A1B2C3D4" * 16
_KEY = "q83ZfwMIIBOgIBAAJBAKj34GkxFhD90vAnYzBcLtU5eR7sXpWdQmNhJiKoGa2C1"
_MOST_SURE = 16
"""Characters of a token that the prefilter looks at: more of them make its automaton larger, and little else clean."""


_LINE_END = r"(?:(?:\\r)?\\n|\r?\n)"


def _token(
    name: str, prefix: str, body: str, least: int, source: str, *, sample: str = "", most: int = 32, guard: str = ""
) -> Family:
    """A family that is told by a prefix at the start of a word; `sample` writes out a prefix that is a pattern."""
    filler = _ALNUM
    if body.startswith("[0-9a-f"):
        filler = _HEX
    elif "a-z" not in body or "A-Z" not in body:
        filler = _UPPER if "A-Z" in body else _UPPER.lower()
    plain = "+" not in body and "=" not in body
    # A character that JSON may write as an escape ends what can be relied upon.
    # So does the end of a line, where a terminal may have broken it.
    sure = f"(?:{body}{{{min(least, _MOST_SURE)}}}|{body}+{_LINE_END}{body})" if plain else rf"{body[:-1]}\\]"
    return Family(
        name,
        rf"\b(?:{prefix}){body}{{{least},}}",
        rf"\<(?:{prefix}){sure}",
        (sample or prefix.replace("\\", "")) + filler[: max(least, most)],
        source,
        guard,
    )


_W = r"[A-Za-z0-9_\-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-f]"
_B = r"[A-Za-z0-9+/=_\-]"
_SURE_PREFIXES = (
    r"gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt)-|sk-(?:ant-[a-z]{2,5}[0-9]{2}-|proj-|or-v1-)|[srp]k_(?:live|test)_|hf_"
    r"|npm_|pypi-|xox[abeprs]-[0-9]{8,14}-(?:[0-9]{8,14}-)?|dop_v1_|hv[sb]\.|glsa_|shpat_|dckr_pat_|nvapi-|gsk_|xai-"
    r"|pplx-|AIza|sq0[a-z]{3}-|lin_api_|ntn_|PMAK-"
)
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"

# fmt: off
FAMILIES: tuple[Family, ...] = (
    Family("private_key", BEGIN, r"PRIVATE[ +]KEY",
           "-----BEGIN EC \x50RIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90v\n-----END EC PRIVATE KEY-----", "gitleaks",
           reach=from_first_line),
    Family("private_key", END, r"PRIVATE[ +]KEY", "⟨q83Zfw1MIIBOgIBAAJBAKj34GkxFhD90v\n-----END EC \x50RIVATE KEY-----",
           "gitleaks", reach=up_to_last_line),
    Family("private_key", LINES, LINES_TRACE, "\n".join((_KEY * 3)[n : n + 64] for n in (0, 9, 21)), "RFC 7468",
           reach=from_the_middle),
    Family("putty_key", r"Private-Lines:[ +][0-9]+", r"Private-Lines",
           "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n⟨AAAAIEf0u6XyZ1a2b3c4d5", "PuTTY's file format",
           reach=behind_number_of_lines),
    _token("age_key", "AGE-SECRET-KEY-", "[A-Z0-9]", 16, "gitleaks", sample="AGE-SECRET-KEY-1"),
    # Clouds and their parts
    Family("aws_key", r"(?:\b|[0-9a-z_])((?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16})\b",
           r"A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}", "AKIA" + "ABCDEFGHIJKLMNOP", "gitleaks"),
    _token("aws_bedrock_key", "ABSK", r"[A-Za-z0-9+/=]", 40, "detect-secrets", most=60),
    _token("aws_session_token", "IQoJb3JpZ2lu|[FA]QoGZXIvYXdz|FwoGZXIvYXdz|AQoDYXdz", "[A-Za-z0-9+/=]", 60, "AWS STS",
           sample="IQoJb3JpZ2lu", most=100),
    _token("aws_bedrock_key", "bedrock-api-key-", "[A-Za-z0-9+/=]", 20, "gitleaks"),
    Family("aws_signature", r"(?i)\bSignature=([0-9a-f]{32,})", r"(?i)signature=[0-9a-f]{32}",
           "Signature=⟨" + _HEX[:64], "AWS Signature Version 4"),
    _token("alibaba_key", "LTAI", _A, 16, "gitleaks", guard="token"),
    _token("tencent_key", "AKID", _A, 20, "Tencent Cloud", guard="token"),
    _token("yandex_key", "AQVN", _W, 30, "gitleaks", most=36, guard="token"),
    _token("google_key", "AIza", _W, 30, "gitleaks", most=35),
    _token("google_oauth", r"ya29\.|GOCSPX-|1//0", _W, 10, "Google OAuth", sample="GOCSPX-"),
    Family("azure_client_secret", r"[A-Za-z0-9_~.\-]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,}", r"[0-9]Q~[A-Za-z0-9_~.\-]{16}",
           "abc8Q~" + _ALNUM[:34], "gitleaks"),
    # Behind `sha512-` it is the digest of a package.
    Family("azure_storage_key", r"(?:^|[^A-Za-z0-9/\-])([A-Za-z0-9+/]{86}==)", r"[A-Za-z0-9+/]==(?:[^0-9A-Za-z=]|$)",
           _ALNUM[:86] + "==", "detect-secrets"),
    # Keys of Azure that say what they are for, with a checksum behind that.
    Family("azure_key",
           r"\b[A-Za-z0-9+/]{30,80}(?:\+ACR|\+ASb|\+AEh|\+AMC|\+ABa|AIoT|APIM|ACDb|AzSe|AzFu|AzCa|JQQJ9)[A-Za-z0-9+/]{5,40}={0,2}",
           r"(?:\+A(?:CR|Sb|Eh|MC|Ba)|AIoT|APIM|ACDb|Az(?:Se|Fu|Ca)|JQQJ9)[A-Za-z0-9+/\\]{5}",
           _ALNUM[:42] + "+ACR" + _ALNUM[:6], "trufflehog"),
    _token("databricks_token", "dapi", _A, 24, "gitleaks", guard="token"),
    _token("digitalocean_token", "do[opr]_v1_", _A, 20, "gitleaks", sample="dop_v1_"),
    _token("heroku_key", "HRKU-", _W, 20, "gitleaks", sample="HRKU-AA"),
    _token("flyio_token", r"fo1_|fm1[ar]_|fm2_", _B, 20, "gitleaks", sample="fo1_"),
    _token("vercel_token", "vc[pkair]_", _A, 20, "Vercel", sample="vcp_"),
    _token("netlify_token", "nf[pcou]_", _A, 20, "Netlify", sample="nfp_"),
    _token("render_key", "rnd_", _A, 20, "Render", guard="token"),
    _token("tailscale_key", "tskey-", _W, 16, "Tailscale", sample="tskey-auth-"),
    _token("pulumi_token", "pul-", "[0-9a-z]", 32, "gitleaks", most=40, guard="token"),
    Family("terraform_token", rf"\b[A-Za-z0-9]{{14}}\.atlasv1\.{_W}{{20,}}", r"\.atlasv1\.",
           _ALNUM[:14] + ".atlasv1." + _ALNUM[:64], "gitleaks"),
    _token("vault_token", r"hv[sbr]\.", _W, 20, "gitleaks", sample="hvs."),
    Family("vault_token", r"\bs\.[A-Za-z0-9]{24}\b", r"\<s\.[A-Za-z0-9]{24}", "s." + _ALNUM[:24], "gitleaks", "token"),
    _token("doppler_token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9._\-]", 16, "gitleaks", sample="dp.pt."),
    _token("onepassword_token", "ops_", _B, 20, "gitleaks", sample="ops_eyJ", guard="token"),
    Family("onepassword_key", r"\bA3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9\-]{10,}", r"\<A3-[A-Z0-9]{6}-",
           "A3-A1B2C3-A1B2C3D4E5F-A1B2C-A1B2C-A1B2C", "gitleaks"),
    _token("openshift_token", "sha256~", _W, 30, "gitleaks", most=43),
    _token("planetscale_token", "pscale_(?:tkn|oauth|pw)_", r"[A-Za-z0-9_=.\-]", 16, "gitleaks", sample="pscale_tkn_"),
    _token("neon_key", "napi_", _A, 30, "Neon", most=40),
    _token("mongodb_atlas_secret", "mdb_sa_sk_", _W, 16, "MongoDB Atlas"),
    _token("supabase_key", "sbp_|sb_secret_", _W, 20, "Supabase", sample="sbp_"),
    _token("scalingo_token", "tk-us-", _W, 30, "gitleaks", most=48),
    _token("cloudflare_key", r"v1\.0-", r"[A-Za-z0-9\-]", 100, "gitleaks", sample="v1.0-"),
    _token("cloudflare_key", "cf(?:[ua]t|k)_", _A, 40, "trufflehog", sample="cfut_", most=48),
    _token("deno_token", "dd[pw]_", _A, 30, "trufflehog", sample="ddp_", most=36),
    _token("backblaze_key", "K00[0-9]", "[A-Za-z0-9+/]", 27, "Backblaze B2", sample="K001", guard="random"),
    _token("salad_key", "salad_cloud_[A-Za-z0-9]{1,7}_", _A, 7, "trufflehog", sample="salad_cloud_user_"),
    Family("ngrok_token", rf"\b2[0-9a-fA-F]{{0,9}}[g-zG-Z]{_A}{{16,25}}_[0-9]{_A}{{20,}}",
           rf"\<2[0-9a-fA-F]*[g-zG-Z]{_A}{{16}}{_A}*_[0-9]", "2" + _ALNUM[8:34] + "_4" + _ALNUM[:32], "trufflehog",
           "token"),
    _token("xata_key", "xau_", _A, 24, "Xata"),
    _token("appwrite_key", "standard_", _H, 64, "Appwrite", most=64),
    _token("settlemint_token", "sm_[aps]at_", _A, 16, "gitleaks", sample="sm_pat_"),
    _token("intra_secret", "[su]-s4t2(?:ud|af)-", _H, 32, "gitleaks", sample="s-s4t2ud-", most=64),
    Family("clickhouse_key", rf"\b4b1d{_A}{{38}}\b", rf"\<4b1d{_A}{{16}}", "4b1d" + _ALNUM[:38], "gitleaks", "token"),
    Family("authress_key",
           r"(?i)\b(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_\-][a-z0-9\-]{10,32}\.[a-z0-9+/_=\-]{30,}",
           r"(?i)\.acc[_\-][a-z0-9\-]{10}", "sc_a1b2c3d4.e5f6.acc_a1b2c3d4e5f6." + _ALNUM[:44], "gitleaks"),
    Family("okta_token", rf"\b00[0-9a-f\-]{{0,15}}[g-zA-Z_]{_W}{{24,39}}\b", rf"\<00[0-9a-f\-]*[g-zA-Z_]{_W}{{16}}",
           "00" + "q8Zfw9kdJ2mQz7LpVtRr3cXyA1b2C3d4E5f6G7h8", "gitleaks", "random"),
    # Code, packages and builds
    _token("github_token", r"gh[pousr]_", _A, 20, "gitleaks", sample="ghp_", most=36),
    _token("github_token", r"github_pat_", r"[A-Za-z0-9_]", 20, "gitleaks", most=40),
    _token("gitlab_token", r"gl(?:pat|dt|rt|cbt|ptt|soat|oas|ft|imt|agent|ffct)-", r"[A-Za-z0-9_.\-]", 16, "gitleaks",
           sample="glpat-"),
    _token("gitlab_token", "GR1348941", _W, 16, "gitleaks"),
    _token("bitbucket_token", "ATBB", _A, 24, "Bitbucket", guard="token"),
    _token("atlassian_token", "ATATT|ATCTT3", r"[A-Za-z0-9_\-=]", 20, "gitleaks", sample="ATATT3"),
    _token("sourcegraph_token", "sgp_", r"[A-Za-z0-9_]", 30, "gitleaks", most=40, guard="token"),
    _token("sourcegraph_token", "slk_", _H, 40, "trufflehog", most=64),
    Family("github_token", r"\bv1\.[0-9a-f]{40}\b", r"\<v1\.[0-9a-f]{16}", "v1." + _HEX[:40], "GitHub Apps"),
    Family("gitlab_session", r"\b_gitlab_session=([0-9a-z]{16,})", r"_gitlab_session(?:=|\\u003[dD])",
           "_gitlab_session=⟨" + _HEX[:32], "gitleaks"),
    _token("bitbucket_token", "BBDC-", r"[A-Za-z0-9+/@_\-]", 40, "trufflehog", most=44),
    _token("depot_token", "depot_[a-z]{3,8}_", _H, 32, "Depot", sample="depot_project_"),
    _token("socket_key", "sktsec_", _W, 20, "Socket"),
    _token("snyk_token", r"snyk_[us]at\.", r"[A-Za-z0-9_.\-]", 20, "Snyk", sample="snyk_uat."),
    _token("endor_key", r"endr\+", r"[A-Za-z0-9\-]", 16, "trufflehog"),
    _token("trufflehog_key", "thog-(?:key|secret)-", _H, 16, "trufflehog", sample="thog-key-", most=16),
    Family("bundler_credential",
           r"\bBUNDLE_[A-Z0-9_]{1,60}__[A-Z]{2,12}(?:_TOKEN)?[\"']?\s{0,4}(?::|[?:]{0,3}=)\s{0,4}[\"']?"
           r"([^\s:\"'\\]{3,}:[^\s:\"';\\]{3,})", r"BUNDLE_[A-Z0-9_]+__[A-Z]", "BUNDLE_GEMS__X__TEST=⟨cafe77:beef88",
           "gitleaks"),
    _token("npm_token", "npm_", _A, 30, "gitleaks", most=36),
    _token("pypi_token", "pypi-", _W, 20, "gitleaks", sample="pypi-AgEIcHlwaS5vcmc"),
    _token("rubygems_key", "rubygems_", _A, 32, "gitleaks", most=48),
    _token("crates_token", "cio", _A, 30, "crates.io", guard="token"),
    _token("nuget_key", "oy2", "[a-z0-9]", 40, "NuGet", most=43, guard="token"),
    _token("clojars_token", "CLOJARS_", _A, 30, "gitleaks", most=60),
    _token("artifactory_key", "AKCp|cmVmd", _A, 30, "gitleaks", sample="AKCp", most=69, guard="token"),
    _token("docker_token", "dckr_(?:pat|oat)_", _W, 16, "Docker", sample="dckr_pat_"),
    _token("circleci_token", "CCI(?:PAT|PRJ)_", r"[A-Za-z0-9_]", 20, "CircleCI", sample="CCIPAT_"),
    _token("buildkite_token", "bk[aupt]{2}_", _A, 20, "Buildkite", sample="bkua_"),
    _token("sonar_token", "sq(?:[aup]|co)_", r"[A-Za-z0-9_=\-]", 32, "gitleaks", sample="squ_", most=40),
    _token("octopus_key", "API-", "[A-Z0-9]", 24, "gitleaks", most=26, guard="token"),
    Family("harness_key", rf"\b[ps]at\.{_W}{{22}}\.{_A}{{24}}\.{_A}{{20}}", rf"\<[ps]at\.{_W}{{22}}\.",
           f"pat.{_ALNUM[:22]}.{_ALNUM[:24]}.{_ALNUM[:20]}", "gitleaks"),
    _token("prefect_key", "pnu_|pnb_", _A, 30, "gitleaks", sample="pnu_", most=36),
    _token("postman_key", "PMAK-|PMAT-", _W, 20, "gitleaks", sample="PMAK-"),
    # Models
    _token("anthropic_key", "sk-ant-", _W, 8, "gitleaks", sample="sk-ant-api03-"),
    _token("openai_key", "sk-", _W, 16, "gitleaks", sample="sk-proj-"),
    _token("huggingface_token", "hf_|api_org_", _A, 20, "gitleaks", sample="hf_"),
    _token("groq_key", "gsk_", _A, 20, "Groq"),
    _token("xai_key", "xai-", _A, 20, "xAI"),
    _token("cerebras_key", "csk-", _A, 20, "Cerebras", guard="token"),
    _token("fireworks_key", "fw_", _A, 20, "Fireworks", guard="token"),
    _token("together_key", "tgp_v1_", _W, 16, "Together"),
    _token("replicate_token", "r8_", _A, 20, "Replicate"),
    _token("perplexity_key", "pplx-", _A, 20, "gitleaks"),
    _token("nvidia_key", "nvapi-", _W, 20, "NVIDIA"),
    _token("langsmith_key", "lsv2_(?:pt|sk)_|ls__", r"[A-Za-z0-9_]", 16, "trufflehog", sample="lsv2_pt_"),
    _token("pinecone_key", "pcsk_", r"[A-Za-z0-9_]", 20, "Pinecone"),
    _token("jina_key", "jina_", _A, 24, "Jina", guard="token"),
    _token("tavily_key", "tvly-", _W, 16, "Tavily"),
    _token("firecrawl_key", "fc-", _H, 28, "Firecrawl"),
    _token("google_key", r"AQ\.", _W, 40, "Google AI Studio", most=48, guard="token"),
    _token("voyage_key", "pa-", _W, 40, "Voyage AI", most=43, guard="token"),
    _token("brave_key", "BSA", _W, 24, "Brave Search", most=28, guard="random"),
    _token("cursor_key", "(?:key|crsr)_", _H, 64, "Cursor", sample="crsr_", most=64),
    _token("elevenlabs_key", "sk_", _H, 40, "trufflehog", most=48),
    _token("apify_token", "apify_api_", r"[A-Za-z0-9\-]", 30, "trufflehog", most=36),
    _token("wandb_key", "wandb_v1_", _W, 30, "Weights & Biases"),
    _token("friendli_token", "flp_", _A, 40, "Friendli", most=44),
    _token("scrapegraph_key", "sgai-", _W, 30, "ScrapeGraphAI"),
    _token("browserbase_key", "bb_(?:live|test)_", _W, 20, "Browserbase", sample="bb_live_"),
    _token("sandbox_key", "(?:e2b|dtn)_", _H, 32, "E2B and Daytona", sample="e2b_", most=40),
    _token("modal_token", "a[ks]-", _A, 22, "Modal", sample="ak-", most=22, guard="token"),
    _token("voiceflow_key", r"VF\.(?:(?:DM|WS)\.)?[0-9a-fA-F]{24}\.", _A, 16, "trufflehog",
           sample="VF.DM." + _HEX[:24] + ".", most=16),
    # Watching
    _token("grafana_token", "gls?[ac]_|eyJrIjoi", _B, 20, "gitleaks", sample="glsa_"),
    _token("newrelic_key", "NR(?:AK|BR|II|JS|RA|IQ)-", _W, 16, "gitleaks", sample="NRAK-"),
    _token("sentry_token", "sntry[su]_", _B, 20, "gitleaks", sample="sntrys_"),
    _token("dynatrace_token", r"dt0[a-z][0-9]{2}\.", r"[A-Za-z0-9.]", 24, "gitleaks", sample="dt0c01."),
    _token("posthog_key", "ph[xs]_", _A, 20, "PostHog", sample="phx_"),
    _token("honeycomb_key", "hc[abx][a-z]{2}_", _A, 24, "Honeycomb", sample="hcaik_"),
    _token("logfire_token", "pylf_v[0-9]_[a-z]{2}_", _A, 30, "Pydantic Logfire", sample="pylf_v1_eu_"),
    _token("axiom_token", "xa[ap]t-", r"[0-9a-f\-]", 32, "Axiom", sample="xaat-"),
    _token("honeybadger_key", "hb[pd]_", _A, 30, "Honeybadger", sample="hbp_"),
    _token("rootly_key", "rootly_", _H, 40, "trufflehog", most=64),
    _token("inngest_key", "signkey-(?:prod|test|branch|staging)-", _H, 32, "Inngest", sample="signkey-prod-", most=64),
    _token("trigger_key", "tr_(?:dev|prod|stg|pat)_", _A, 20, "Trigger.dev", sample="tr_dev_"),
    _token("statsig_key", "secret-", _A, 40, "Statsig", most=43, guard="token"),
    Family("newrelic_key", r"\b(?:[0-9a-z]{30,36}FFFFNRAL|(?:AA|eu01xx)[0-9a-f]{36,40}-NRMA)\b", r"FFFFNRAL|-NRMA",
           _HEX[:32] + "FFFFNRAL", "trufflehog"),
    Family("launchdarkly_key", rf"\b(?:api|sdk|mob)-{_UUID}", r"\<(?:api|sdk|mob)-[0-9a-f]{8}-",
           "sdk-0199f3a2-4c07-4c31-9d0e-5b1f60c8a211", "trufflehog"),
    # Work and talk
    _token("slack_token", r"(?:xox[abceoprsd](?:\.xox[bp])?|xapp)-", r"[A-Za-z0-9\-]", 10, "gitleaks", sample="xoxb-"),
    Family("slack_webhook",
           r"(?:https?://hooks\.slack\.com)?/(?:services/T|workflows/T|triggers/[TE])[A-Z0-9]{4,}/[A-Za-z0-9/_+\-]{20,}",
           r"/(?:services|workflows|triggers)/[TE][A-Z0-9]{4}",
           "https://hooks.slack.com⟨/services/" + "T0000/B0000/abcdefABCDEF123456", "gitleaks"),
    Family("discord_webhook",
           r"(?:https?://(?:[a-z]{2,10}\.)?discord(?:app)?\.com)?/api(?:/v[0-9]{1,2})?/webhooks/[0-9]{10,}/[A-Za-z0-9_\-]{20,}",
           r"/webhooks/[0-9]{10}", "https://discord.com⟨/api/webhooks/" + "123456789012/" + _ALNUM[:32],
           "detect-secrets"),
    Family("teams_webhook",
           r"(?:https?://[a-z0-9.\-]{1,60}\.office\.com)?/webhook(?:b2/[A-Za-z0-9]|/[A-Za-z0-9]{8}-[A-Za-z0-9\-]{20,27}@)[A-Za-z0-9@/\-]{20,}",
           r"/webhook(?:b2/|/[A-Za-z0-9]{8}-)",
           "https://example.webhook.office.com⟨/webhookb2/" + _HEX[:32] + "/IncomingWebhook/" + _HEX[:32], "gitleaks"),
    Family("webhook",
           r"/(?:hooks/[a-z0-9]{26}\b|hooks/catch/[A-Za-z0-9/]{12,}|webhook/[a-z0-9]{32}/[a-z0-9]{32}|integration/[0-9a-f]{32}/enqueue"
           r"|with/key/[A-Za-z0-9_\-]{20,}|interactions/[0-9]{10,}/aW50[A-Za-z0-9_\-]{30,})",
           r"/(?:hooks/(?:catch/[A-Za-z0-9]|[a-z0-9]{16})|webhook/[a-z0-9]{16}|integration/[0-9a-f]|with/key/|interactions/[0-9]+/aW50)",
           "⟨/hooks/" + _ALNUM.lower()[:26],
           "the documentation of Mattermost, Zapier, Tines, PagerDuty, IFTTT and Discord"),
    Family("discord_token", r"\b[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}",
           r"\<[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.", "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaBcDe." + _ALNUM[:28],
           "detect-secrets"),
    Family("telegram_token", r"(?:\b|bot)([0-9]{6,12}:AA[A-Za-z0-9_\-]{32,34})", r"[0-9]:AA[A-Za-z0-9_\-]{16}",
           "/bot⟨123456789:" + "AA" + _ALNUM[:33], "detect-secrets"),
    _token("notion_token", "ntn_|secret_", _A, 30, "gitleaks", sample="ntn_", most=46, guard="token"),
    _token("linear_key", "lin_(?:api|oauth)_", _A, 20, "gitleaks", sample="lin_api_"),
    _token("figma_token", "fig[dopu]r?_", _W, 20, "Figma", sample="figd_"),
    Family("airtable_token", rf"\b[A-Za-z0-9]{{8,}}\.v1\.{_W}{{16,}}\.[0-9a-f]{{32,}}", rf"\.v1\.{_W}{{16}}",
           _ALNUM[:17] + ".v1." + _ALNUM[:40] + "." + _HEX[:64], "trufflehog"),
    _token("airtable_token", r"pat[A-Za-z0-9]{14}\.", _H, 32, "Airtable", sample="pat" + _ALNUM[:14] + "."),
    _token("hubspot_token", r"pat-[a-z]{2,3}[0-9]-", r"[A-Za-z0-9\-]", 24, "HubSpot", sample="pat-na1-"),
    _token("typeform_token", "tfp_", r"[A-Za-z0-9_.=\-]", 20, "gitleaks"),
    _token("readme_key", "rdme_", "[a-z0-9]", 30, "gitleaks", most=70),
    _token("frameio_token", "fio-u-", r"[A-Za-z0-9_=\-]", 20, "gitleaks"),
    _token("contentful_token", "CFPAT-", _W, 16, "Contentful"),
    _token("clickup_token", "pk_[0-9]{6,9}_", "[0-9A-Z]", 30, "trufflehog", sample="pk_1234567_"),
    _token("zoho_token", r"1000\.[0-9a-f]{32}\.", _H, 32, "trufflehog", sample="1000." + _HEX[:32] + "."),
    _token("close_key", "api_", "[A-Za-z0-9.]", 40, "trufflehog", most=45, guard="token"),
    _token("adafruit_key", "aio_", _A, 24, "trufflehog", most=28, guard="token"),
    _token("intercom_token", "dG9rO", "[A-Za-z0-9+/=]", 40, "Intercom", most=55),
    _token("nightfall_key", "NF-", _A, 32, "trufflehog", guard="token"),
    _token("fleetbase_key", "flb_(?:live|test)_", _A, 16, "trufflehog", sample="flb_live_"),
    _token("flexport_key", "shltm_", _W, 40, "trufflehog", most=40),
    _token("pubnub_key", "(?:pub|sub|sec)-c-", r"[A-Za-z0-9\-]", 30, "trufflehog", sample="sec-c-"),
    _token("dropbox_token", r"sl\.", r"[A-Za-z0-9_=.\-]", 100, "gitleaks", most=120, guard="token"),
    _token("fullstory_key", r"na1\.", "[A-Za-z0-9+/]", 80, "trufflehog", most=100),
    _token("ubidots_token", "BBFF-", _A, 28, "trufflehog", most=30),
    _token("bannerbear_key", "bb_(?:pr|ma)_", _H, 24, "trufflehog", sample="bb_pr_", most=30),
    _token("mapbox_token", r"[ps]k\.", r"[A-Za-z0-9_.\-]", 32, "gitleaks", sample="sk.", most=80, guard="token"),
    _token("salesforce_token", "00[A-Za-z0-9]{13,16}!", r"[A-Za-z0-9_.]", 60, "trufflehog",
           sample="00D" + _ALNUM[:12] + "!", most=96),
    _token("salesforce_token", "3MVG9|5AEP861", r"[A-Za-z0-9_.+/=]", 60, "trufflehog", sample="3MVG9", most=80),
    _token("onesignal_key", "os_v2_(?:app|org)_", "[a-z0-9]", 40, "OneSignal", sample="os_v2_app_"),
    Family("dropbox_token", r"\b[a-z0-9]{11}A{10}[A-Za-z0-9_=\-]{40,}", r"AAAAAAAAAA[A-Za-z0-9_=\-]",
           "a1b2c3d4e5f" + "A" * 10 + _ALNUM[:43], "gitleaks"),
    Family("tableau_token", r"\b[A-Za-z0-9+/]{22}==:[A-Za-z0-9]{32}", r"(?:==|\\u003[dD]\\u003[dD]):[A-Za-z0-9]{16}",
           _ALNUM[:22] + "==:" + _ALNUM[:32], "trufflehog"),
    Family("asana_token", r"\b[0-9]/[0-9]{16}(?:\\?/[0-9]{16})?:[0-9a-f]{32}", r"/[0-9]{16}:[0-9a-f]{16}",
           "2/1234567890123456/1234567890123457:" + _HEX[:32], "trufflehog"),
    Family("twitter_token", rf"\b[0-9]{{15,25}}-[0-9a-f]{{0,11}}[g-zA-Z]{_A}{{22,39}}\b",
           rf"\<[0-9]{{9}}[0-9]*-[0-9a-f]*[g-zA-Z]{_A}{{18}}",
           "123456789012345678-" + "q8Zfw9kdJ2mQz7LpVtRr3cXyA1b2C3d4E5f6", "gitleaks", "random"),
    _token("twitter_token", "AAAAAAAAAAAAAAAAAAAA", "[A-Za-z0-9%]", 50, "gitleaks", sample="A" * 22, most=80,
           guard="token"),
    _token("yandex_token", r"t1\.", r"[A-Za-z0-9_=.\-]", 80, "gitleaks", most=120, guard="token"),
    _token("yandex_token", "YC", _W, 38, "gitleaks", sample="YC", most=38, guard="random"),
    Family("webex_token",
           r"\b[A-Za-z0-9]{64}_P[F0][A-Za-z0-9]{2}_[A-Za-z0-9]{8}-(?:[A-Za-z0-9]{4}-){3}[A-Za-z0-9]{12}\b",
           r"[A-Za-z0-9]_P[F0][A-Za-z0-9]{2}_[A-Za-z0-9]{8}-",
           _ALNUM[:64] + "_PF84_0199f3a2-4c07-4c31-9d0e-5b1f60c8a211", "trufflehog"),
    _token("dfuse_key", "web_", "[0-9a-z]", 32, "trufflehog", most=32, guard="token"),
    # Mail and messages
    Family("sendgrid_key", rf"\bSG\.(?:{_W}{{16,}}\.{_W}{{16,}}|[A-Za-z0-9_.=\-]{{60,}})",
           r"\<SG\.[A-Za-z0-9_.=\-]{16}", "SG." + _ALNUM[:22] + "." + _ALNUM[:43], "gitleaks", "token"),
    # `AC` before it is an account, which is no secret.
    Family("twilio_key", r"\bSK[0-9A-Za-z]{32}\b", r"\<SK[0-9A-Za-z]{16}", "SK" + _HEX[:32], "gitleaks", "token"),
    Family("mailchimp_key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b", r"[0-9a-f]-us[0-9]", _HEX[:32] + "-us12", "gitleaks"),
    # Such keys of caches are many, so that something has to speak for mail.
    Family("mailgun_key", r"(?i)(?:\bmailgun[^\r\n]{0,80}?\b|\bapi:)((?:pub)?key-[0-9a-f]{32})",
           r"(?i)(?:mailgun[^\n]*[^0-9a-z_]|api:)(?:pub)?key-[0-9a-f]{16}", "Mailgun said no to ⟨key-" + _HEX[:32],
           "gitleaks"),
    # No shorter in the middle: names of dated models, as in `opus-4-5-20251101`, would be searched each time.
    Family("mailgun_key", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b",
           r"(?:^|[^0-9a-f\-]-?)[0-9a-f]+-[0-9a-f]{8}-[0-9a-f]{8}", _HEX[:32] + "-" + _HEX[:8] + "-" + _HEX[:8],
           "gitleaks"),
    _token("mailersend_token", r"mlsn\.", _H, 40, "MailerSend", most=64),
    _token("brevo_key", "xkeysib-|xsmtpsib-", _W, 30, "gitleaks", sample="xkeysib-", most=64),
    _token("resend_key", "re_[A-Za-z0-9]{6,10}_", _A, 16, "Resend", sample="re_a1B2c3D4_", guard="token"),
    # Money and shops
    _token("stripe_key", r"[srp]k_(?:live|test|prod)_", _A, 10, "gitleaks", sample="sk_live_"),
    _token("paystack_key", "sk_[a-z]{1,16}_", _A, 40, "trufflehog", sample="sk_shop_", most=40),
    _token("finage_key", "API_KEY", "[0-9A-Z]", 32, "trufflehog", most=32, guard="token"),
    _token("stripe_key", "whsec_", r"[A-Za-z0-9+/=]", 16, "Stripe"),
    Family("stripe_secret", r"\b(?:pi|seti|cs|src)_[A-Za-z0-9]{10,}_secret_([A-Za-z0-9]{16,})",
           r"[A-Za-z0-9]_secret_[A-Za-z0-9]{16}", "pi_" + _HEX[:24] + "_secret_⟨" + _ALNUM[:25], "trufflehog"),
    _token("printful_key", "sk_pr_[A-Za-z0-9]{1,64}_", _H, 32, "trufflehog", sample="sk_pr_a1_", most=40),
    _token("recharge_key", "sk(?:_test)?_[0-9]{1,2}x[123]_", "[0-9a-fA-F]", 40, "trufflehog", sample="sk_1x2_",
           most=64),
    _token("pagarme_key", "ak_(?:live|test)_", _A, 24, "trufflehog", sample="ak_live_", most=30),
    _token("razorpay_key", "rzp_(?:live|test)_", _A, 14, "trufflehog", sample="rzp_live_", most=14),
    _token("ramp_key", "ramp_(?:id|sec)_", _A, 40, "trufflehog", sample="ramp_sec_", most=48),
    _token("robinhood_key", "rh-api-", r"[0-9a-fA-F\-]", 32, "trufflehog", most=36),
    _token("adyen_key", "AQE", "[A-Za-z0-9+/=]", 60, "Adyen", most=100, guard="token"),
    _token("braintree_token", r"access_token\$(?:production|sandbox)\$", "[0-9a-z$]", 30, "Braintree",
           sample="access_token$sandbox$", most=49),
    _token("klaviyo_key", "pk_(?:[A-Za-z0-9]{6}_)?", _H, 30, "trufflehog", sample="pk_", most=34),
    Family("lob_key", r"\b(?:live|test)_(?:[0-9a-f]{35}|pub_[0-9a-f]{31})\b", r"\<(?:live|test)_(?:pub_)?[0-9a-f]{8}",
           "test_" + _HEX[:35], "gitleaks"),
    Family("gocardless_token", r"\b(live_[A-Za-z0-9_=\-]{40})(?:[^A-Za-z0-9_=\-]|$)", r"\<live_[A-Za-z0-9_=\-]{16}",
           "live_" + _ALNUM[:40], "gitleaks", "token"),
    _token("alchemy_key", "alcht_", _A, 24, "trufflehog", most=30),
    _token("wallet_key", "nsec1", "[a-z0-9]", 50, "Nostr", most=58),
    _token("wallet_key", "[xyz]prv", _A, 90, "BIP 32", sample="xprv", most=107),
    _token("square_token", r"sq0[a-z]{3}-|EAAA", _W, 22, "gitleaks", sample="sq0atp-", guard="token"),
    _token("shopify_token", "shp(?:at|ca|pa|ss)_", _A, 20, "gitleaks", sample="shpat_"),
    _token("plaid_token", "access-(?:sandbox|development|production)-", r"[0-9a-f\-]", 24, "gitleaks",
           sample="access-sandbox-"),
    _token("flutterwave_key", r"FLW(?:SEC|PUB)K(?:_TEST)?-", r"[A-Za-z0-9\-]", 12, "gitleaks", sample="FLWSECK_TEST-"),
    _token("duffel_token", "duffel_(?:test|live)_", r"[A-Za-z0-9_=\-]", 20, "gitleaks", sample="duffel_test_"),
    _token("shippo_token", "shippo_(?:live|test)_", _A, 20, "gitleaks", sample="shippo_test_"),
    _token("easypost_key", "EZ[AT]K", _A, 40, "gitleaks", sample="EZAK", most=54),
    Family("facebook_token", r"\b[0-9]{15,16}(?:\||%7[cC])[A-Za-z0-9_\-]{27,40}",
           r"[0-9](?:\||%7[cC])[A-Za-z0-9_\-]{27}", "123456789012345|" + _ALNUM[:27], "gitleaks", "token"),
    _token("facebook_token", "EAA[A-Z]", _A, 60, "gitleaks", sample="EAAC", most=100),
    Family("maxmind_key", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b", r"[A-Za-z0-9]_mmk",
           _ALNUM[:6] + "_" + _ALNUM[:29] + "_mmk", "gitleaks"),
    _token("infracost_key", "ico-", _A, 30, "gitleaks", guard="token"),
    _token("adobe_secret", "p8e-", _A, 30, "gitleaks"),
    _token("defined_key", "dnkey-", r"[A-Za-z0-9_=\-]", 40, "gitleaks", most=79),
    # Behind a letter, a digit or `_`, where a short prefix may end a word
    Family("glued_token", rf"[0-9A-Za-z_]((?:{_SURE_PREFIXES}){_A}{{16,}}[A-Za-z0-9_\-]*)",
           rf"[0-9A-Za-z_](?:{_SURE_PREFIXES}){_A}{{16}}", "backup_⟨ghp_" + _ALNUM[:36], "gitleaks", "token"),
    # Anybody's
    Family("jwt",
           r"(?:ey[A-J]|ewo)[A-Za-z0-9_\-]{8,}={0,2}\.(?:ey[A-J]|ewo)[A-Za-z0-9_\-]{8,}={0,2}(?:\.[A-Za-z0-9_\-]*)?",
           r"\.(?:ey[A-J]|ewo)[A-Za-z0-9_\-]{8}", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
           "RFC 7519"),
    _token("jwt", "ZXlK", "[A-Za-z0-9+/=]", 40, "gitleaks", most=80, guard="token"),
    Family("jwt", r"\beyJ[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]*(?:\.[A-Za-z0-9_\-]{8,}){3}",
           r"\<eyJ[A-Za-z0-9_\-]{16,}\.", "eyJhbGciOiJSU0EtT0FFUCJ9." + "a1B2c3D4e5F6." * 3 + "a1B2c3D4e5F6",
           "RFC 7516"),
    Family("password_hash",
           r"\$(?:2[abxy]|[156y]|apr1|argon2id?|argon2i|scrypt|pbkdf2-sha[0-9]{1,3})\$[A-Za-z0-9./$=,+\-]{20,}",
           r"\$(?:2[abxy]|[156y]|apr1|argon2id?|scrypt|pbkdf2-sha[0-9]{1,3})\$[A-Za-z0-9./$=,+\-\\]{8}",
           "$6$a1B2c3D4$" + _ALNUM[:86], "crypt(5)", "token"),
    Family("generated", "[0-9a-z]{28,}", ALTERNATING, "q8zfw9kdj2mqz7lpvtrr3cxya1b2c3d4", "its letters and digits",
           reach=generated_at),
    # `-----BEGIN … PRIVATE KEY` in Base64, as secrets of Kubernetes hold it.
    Family("private_key",
           r"\bLS0tLS1CRUdJTi(?:BQUklWQVRFI|BSU0EgUFJJVkFURS|BFQyBQUklWQVRFI|BPUEVOU1NIIFBSSVZBVEUg|BFTkNSWVBURUQgUFJJVkFURS|BEU0EgUFJJVkFURS)"
           r"[A-Za-z0-9+/=]*", r"LS0tLS1CRUdJTiB[A-Za-z0-9]", "LS0tLS1CRUdJTi" + "BQUklWQVRFIEtFWS0tLS0t" + _ALNUM,
           "RFC 7468"),
    # A password may hold any of `/@:`; of a port with a path and an address behind it, the guard knows.
    Family("url_password", r"(?i)\b[a-z][a-z0-9+.\-]{1,20}:/{2}[^\s/:@\"'<>\[]{0,200}:([^\s\"'<>]+)@[a-z0-9\[_\-%]",
           r"://[^\s/:@\"'<>]*:[^\s\"'<>]+@", "postgres://app:⟨p4ss/w0rd@⟩@db.test/x", "RFC 3986", "url"),
    Family("url_token", r"(?i)\bhttps?://([a-z0-9_\-]{20,})@[a-z0-9\[]", r"(?i)://[a-z0-9_\-]+@",
           "https://⟨" + _ALNUM[:40] + "⟩@git.test/x", "git over HTTPS", "token"),
    Family("dsn_password", r"\b[A-Za-z0-9_.\-]{1,60}:([^\s\"'<>]+)@(?:tcp|udp|unix|cloudsql)\(",
           r"@(?:tcp|udp|unix|cloudsql)\(", "app:⟨p4ssw0rd⟩@tcp(db.test:3306)/x", "Go's MySQL driver"),
    Family("azure_sas", r"(?i)[?&]sig=([A-Za-z0-9%+/=_\-]{16,})", r"(?i)(?:[?&]|\\u0026)sig=[a-z0-9%+/_\-]",
           "https://x.test/c?sv=1&sig=⟨" + "abcdefABCDEF%2B123456", "Azure's shared access signatures"),
    Family("bearer", r"(?i)\bbearer +([A-Za-z0-9_\-.~+/]{12,}=*)", r"(?i)bearer +[A-Za-z0-9_\-.~+/]{12}",
           "Bearer ⟨abcDEF123456xyz", "RFC 6750", "plain"),
    Family("cookie", r"(?i)\b(?:set-)?cookie2?[\"']?\s{0,4}:\s{0,4}[\"']?([^\s=\"'\\]{1,60}=[^\r\n\"'\\]{4,})",
           r"(?i)cookie2?(?:[\s\"'\\]|\\[nrtf]|\\u000[cC])*[=:][=>\s\"'\\]*[^\s=\"'\\]+=",
           "Cookie: ⟨session=abcdef123456", "RFC 6265"),
    Family("sql_password", r"(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?[\"']([^\"'\\\r\n]+)",
           r"(?i)identified", "CREATE USER app IDENTIFIED BY '⟨tr0ub4dor", "SQL"),
    Family("netrc_password", r"(?i)\b(?:login|account|machine)\s+\S{1,200}\s+password\s+([^\s\"']+(?:'[^\s\"',;)]+)*)",
           r"(?i)(?:login|account|machine)(?:\s|\\[nrt])+[^\s\"]+?(?:\s|\\[nrt])+password",
           "machine x.test login app account a password ⟨tr0ub4dor", "netrc", "plain"),
    Family("mail_password", r"(?i)\bauth (?:plain|login|xoauth2) ([A-Za-z0-9+/]{8,}={0,2})",
           r"(?i)auth (?:plain|login|xoauth2) [A-Za-z0-9+/\\]{8}", "AUTH PLAIN ⟨AGFwcABodW50ZXIyeA==", "RFC 4954",
           "plain"),
    # What is said to a program that asks for a secret on its standard input.
    Family("piped_password",
           r"\b(?:echo|printf)\s+(?:-[a-zA-Z]+\s+)?[\"']?([^\s\"'|$]{4,})[\"']?\s*\|\s*(?:sudo\s+-S|[^|\r\n]{0,120}"
           r"(?:-stdin\b|\bpasswd\b|\bchpasswd\b|--with-token\b|\bsecret\b))",
           r"(?:echo|printf)(?:\s|\\[nrt])[^\n|]*\|[^\n|]*(?:sudo|stdin|passwd|--with-token|secret)",
           "echo ⟨hunter2x⟩ | docker login -u app --password-stdin", "shells", "plain"),
    Family("secure_string",
           r"(?i)\bConvertTo-SecureString\s+(?:-[a-z]+\s+)*\\*[\"']?([^\s<\"'$()\\\-][^\s<\"'$()\\]{3,})",
           r"(?i)ConvertTo-SecureString", "ConvertTo-SecureString '⟨hunter2x⟩' -AsPlainText -Force", "PowerShell",
           "plain"),
    Family("oracle_password",
           r"(?i)\b(?:(?:sqlplus|sqlldr|impdp|expdp|rman)\s+(?:-[a-z]+\s+){0,4}|jdbc:oracle:[a-z]{3,6}:)[\"']?[a-z0-9_$#]{1,60}/"
           r"([^\s@\"'/]{3,})", r"(?i)(?:sqlplus|sqlldr|impdp|expdp|rman)(?:\s|\\[nrt])|jdbc:oracle:",
           "sqlplus app/⟨hunter2x⟩@db", "Oracle Database", "password"),
    Family("secret_argument",
           r"\b(?:secrets?[\"']?[\s,]{1,4}[\"']?set|put-parameter)\b[^\r\n|;]{0,300}?[\s\"',](?:-b|--body|--value)"
           r"(?:[\"'],?\s{0,4}|\s{1,4}|=)[\"']?([^\s\"']{4,})",
           r"\<(?:secrets?[\"'\s,\\]+set|put-parameter)[^\n]*?(?:-b|--body|--value)",
           "gh secret set DEPLOY --body ⟨hunter2x", "GitHub's, Azure's and AWS's commands", "plain"),
    # The third argument, as traces of PHP show it.
    Family("call_password",
           r"\b(?:mysqli?_p?connect|(?:mysqli|PDO)->__construct|ldap_bind|ftp_login|ssh2_auth_password|imap_open|OpenDSObject)\("
           r"[^,\n]{0,200},\s*[^,\n]{0,200},\s*\\*[\"']([^\"'\\\n]{3,})",
           r"(?:connect|__construct|ldap_bind|ftp_login|ssh2_auth_password|imap_open|OpenDSObject)\(",
           "#0 /app/db.php(12): mysqli_connect('db', 'app', '⟨hunter2x⟩')", "PHP", "password"),
)
# fmt: on
