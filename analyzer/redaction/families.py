"""Secrets that have a shape of their own: one row a family, the only list of them.

A pattern is a fixed prefix and a greedy character class, without a required end: a search never reads far past its
match, so that many matches in one text stay linear too.
"""

from __future__ import annotations

from typing import NamedTuple


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


_HEX = "0123456789abcdef" * 8
_ALNUM = "a1B2c3D4" * 16
_UPPER = "A1B2C3D4" * 16
_PLAIN_CLASSES = ("[0-9a-f]", "[A-Z0-9]", "[A-Za-z0-9]", r"[A-Za-z0-9_\-]", r"[A-Za-z0-9_]")


def _token(
    name: str, prefix: str, body: str, least: int, source: str, *, sample: str = "", most: int = 32, guard: str = ""
) -> Family:
    """A family that is told by a prefix at the start of a word; `sample` writes out a prefix that is a pattern."""
    filler = _ALNUM
    if body.startswith("[0-9a-f"):
        filler = _HEX
    elif "a-z" not in body or "A-Z" not in body:
        filler = _UPPER if "A-Z" in body else _UPPER.lower()
    # A character that JSON may write as an escape ends what can be relied upon.
    sure = body + f"{{{least}}}" if body in _PLAIN_CLASSES else "[A-Za-z0-9]"
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

FAMILIES: tuple[Family, ...] = (
    Family(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\+r|\\+n)*(?:[A-Za-z][A-Za-z\-]{1,30}: [^\n\\]+|[A-Za-z0-9+/=]{4,}))*"
        r"(?:(?:\s|\\+r|\\+n)*-----END [A-Z0-9 ]{0,60}-----)?",
        r"PRIVATE KEY",
        "-----BEGIN EC \x50RIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90v\n-----END EC PRIVATE KEY-----",
        "gitleaks",
    ),
    Family(
        "putty_key",
        r"PuTTY-User-Key-File-[23]: [^\x00]*?Private-Lines: [0-9]+(?:(?:\s|\\+r|\\+n)+[A-Za-z0-9+/=]{4,})+",
        r"PuTTY-User-Key-File",
        "PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\nAAAAIEf0u6XyZ1a2b3c4d5",
        "PuTTY's file format",
    ),
    _token("age_key", "AGE-SECRET-KEY-", "[A-Z0-9]", 16, "gitleaks", sample="AGE-SECRET-KEY-1"),
    # Clouds and their parts
    Family(
        "aws_key",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",
        r"\<A(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{16}",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "gitleaks",
    ),
    _token("aws_bedrock_key", "ABSK", r"[A-Za-z0-9+/=]", 40, "detect-secrets", most=60),
    Family(
        "aws_signature",
        r"(?i)\bSignature=([0-9a-f]{32,})",
        r"(?i)signature=[0-9a-f]{32}",
        "Signature=⟨" + _HEX[:64],
        "AWS Signature Version 4",
    ),
    _token("alibaba_key", "LTAI", _A, 16, "gitleaks", guard="token"),
    _token("tencent_key", "AKID", _A, 20, "Tencent Cloud", guard="token"),
    _token("yandex_key", "AQVN", _W, 30, "gitleaks", most=36, guard="token"),
    _token("google_key", "AIza", _W, 30, "gitleaks", most=35),
    _token("google_oauth", r"ya29\.|GOCSPX-|1//0", _W, 16, "Google OAuth", sample="GOCSPX-"),
    Family(
        "azure_client_secret",
        r"\b[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,}",
        r"[0-9]Q~[A-Za-z0-9_~.\-]{31}",
        "abc8Q~" + _ALNUM[:34],
        "gitleaks",
    ),
    Family(
        "azure_storage_key",
        r"\b([A-Za-z0-9+/]{86}==)",
        r"[A-Za-z0-9+/]{3}==(?:[^0-9A-Za-z=]|$)",
        _ALNUM[:86] + "==",
        "detect-secrets",
    ),
    _token("databricks_token", "dapi", _A, 24, "gitleaks", guard="token"),
    _token("digitalocean_token", "do[opr]_v1_", _A, 20, "gitleaks", sample="dop_v1_"),
    _token("heroku_key", "HRKU-", _W, 20, "gitleaks", sample="HRKU-AA"),
    _token("flyio_token", r"fo1_|fm1[ar]_|fm2_", _B, 20, "gitleaks", sample="fo1_"),
    _token("vercel_token", "vc[pkair]_", _A, 20, "Vercel", sample="vcp_"),
    _token("netlify_token", "nf[pcou]_", _A, 20, "Netlify", sample="nfp_"),
    _token("render_key", "rnd_", _A, 20, "Render", guard="token"),
    _token("tailscale_key", "tskey-", _W, 16, "Tailscale", sample="tskey-auth-"),
    _token("pulumi_token", "pul-", _H, 32, "gitleaks", most=40),
    Family(
        "terraform_token",
        rf"\b[A-Za-z0-9]{{14}}\.atlasv1\.{_W}{{20,}}",
        r"\.atlasv1\.",
        _ALNUM[:14] + ".atlasv1." + _ALNUM[:64],
        "gitleaks",
    ),
    _token("vault_token", r"hv[sbr]\.", _W, 20, "gitleaks", sample="hvs."),
    _token("doppler_token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9._\-]", 16, "gitleaks", sample="dp.pt."),
    _token("onepassword_token", "ops_", _B, 20, "gitleaks", sample="ops_eyJ", guard="token"),
    Family(
        "onepassword_key",
        r"\bA3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9\-]{10,}",
        r"\<A3-[A-Z0-9]{6}-",
        "A3-A1B2C3-A1B2C3D4E5F-A1B2C-A1B2C-A1B2C",
        "gitleaks",
    ),
    _token("openshift_token", "sha256~", _W, 30, "gitleaks", most=43),
    _token("planetscale_token", "pscale_(?:tkn|oauth|pw)_", r"[A-Za-z0-9_=.\-]", 16, "gitleaks", sample="pscale_tkn_"),
    _token("neon_key", "napi_", _A, 30, "Neon", most=40),
    _token("mongodb_atlas_secret", "mdb_sa_sk_", _W, 16, "MongoDB Atlas"),
    _token("supabase_key", "sbp_|sb_secret_", _W, 20, "Supabase", sample="sbp_"),
    _token("scalingo_token", "tk-us-", _W, 30, "gitleaks", most=48),
    # Code, packages and builds
    _token("github_token", r"gh[pousr]_", _A, 20, "gitleaks", sample="ghp_", most=36),
    _token("github_token", r"github_pat_", r"[A-Za-z0-9_]", 20, "gitleaks", most=40),
    _token(
        "gitlab_token",
        r"gl(?:pat|dt|rt|cbt|ptt|soat|oas|ft|imt|agent|ffct)-",
        r"[A-Za-z0-9_.\-]",
        16,
        "gitleaks",
        sample="glpat-",
    ),
    _token("gitlab_token", "GR1348941", _W, 16, "gitleaks"),
    _token("bitbucket_token", "ATBB", _A, 24, "Bitbucket", guard="token"),
    _token("atlassian_token", "ATATT3|ATCTT3", r"[A-Za-z0-9_\-=]", 20, "gitleaks", sample="ATATT3"),
    _token("sourcegraph_token", "sgp_", r"[A-Za-z0-9_]", 30, "gitleaks", most=40, guard="token"),
    _token("npm_token", "npm_", _A, 30, "gitleaks", most=36),
    _token("pypi_token", "pypi-", _W, 20, "gitleaks", sample="pypi-AgEIcHlwaS5vcmc"),
    _token("rubygems_key", "rubygems_", _H, 32, "gitleaks", most=48),
    _token("crates_token", "cio", _A, 30, "crates.io", guard="token"),
    _token("nuget_key", "oy2", "[a-z0-9]", 40, "NuGet", most=43, guard="token"),
    _token("clojars_token", "CLOJARS_", _A, 30, "gitleaks", most=60),
    _token("artifactory_key", "AKCp|cmVmd", _A, 30, "gitleaks", sample="AKCp", most=69, guard="token"),
    _token("docker_token", "dckr_(?:pat|oat)_", _W, 16, "Docker", sample="dckr_pat_"),
    _token("circleci_token", "CCI(?:PAT|PRJ)_", r"[A-Za-z0-9_]", 20, "CircleCI", sample="CCIPAT_"),
    _token("buildkite_token", "bk[aupt]{2}_", _A, 20, "Buildkite", sample="bkua_"),
    _token("sonar_token", "sq[aup]_", _H, 32, "SonarQube", sample="squ_", most=40),
    _token("octopus_key", "API-", "[A-Z0-9]", 24, "gitleaks", most=26, guard="token"),
    Family(
        "harness_key",
        rf"\b[ps]at\.{_W}{{22}}\.{_A}{{24}}\.{_A}{{20}}",
        rf"\<[ps]at\.{_W}{{22}}\.",
        f"pat.{_ALNUM[:22]}.{_ALNUM[:24]}.{_ALNUM[:20]}",
        "gitleaks",
    ),
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
    # Watching
    _token("grafana_token", "gls?[ac]_|eyJrIjoi", _B, 20, "gitleaks", sample="glsa_"),
    _token("newrelic_key", "NR(?:AK|II|JS|RA|IQ)-", _W, 16, "gitleaks", sample="NRAK-"),
    _token("sentry_token", "sntry[su]_", _B, 20, "gitleaks", sample="sntrys_"),
    _token("dynatrace_token", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9.]", 24, "gitleaks", sample="dt0c01."),
    _token("posthog_key", "ph[xs]_", _A, 20, "PostHog", sample="phx_"),
    _token("honeycomb_key", "hc[abx][a-z]{2}_", _A, 24, "Honeycomb", sample="hcaik_"),
    # Work and talk
    _token("slack_token", r"(?:xox[abceoprsd](?:\.xox[bp])?|xapp)-", r"[A-Za-z0-9\-]", 10, "gitleaks", sample="xoxb-"),
    Family(
        "slack_webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+\-]{20,}",
        r"hooks\.slack\.com",
        "https://hooks.slack.com/services/" + "T0000/B0000/abcdefABCDEF123456",
        "gitleaks",
    ),
    Family(
        "discord_webhook",
        r"https://(?:[a-z]{2,10}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_\-]{20,}",
        r"discord(?:app)?\.com\\?/api",
        "https://discord.com/api/webhooks/" + "123456789012/" + _ALNUM[:32],
        "detect-secrets",
    ),
    Family(
        "teams_webhook",
        r"https://[a-z0-9.\-]{1,60}\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/\-]{20,}",
        r"webhook\.office\.com",
        "https://example.webhook.office.com/webhookb2/" + _HEX[:32] + "/IncomingWebhook/" + _HEX[:32],
        "gitleaks",
    ),
    Family(
        "discord_token",
        r"\b[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}",
        r"\<[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaBcDe." + _ALNUM[:28],
        "detect-secrets",
    ),
    Family(
        "telegram_token",
        r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,34}",
        r"[0-9]:AA[A-Za-z0-9_\-]{16}",
        "123456789:" + "AA" + _ALNUM[:33],
        "detect-secrets",
    ),
    _token("notion_token", "ntn_|secret_", _A, 30, "gitleaks", sample="ntn_", most=46, guard="token"),
    _token("linear_key", "lin_(?:api|oauth)_", _A, 20, "gitleaks", sample="lin_api_"),
    _token("figma_token", "fig[dou]r?_", _W, 20, "Figma", sample="figd_"),
    _token("airtable_token", r"pat[A-Za-z0-9]{14}\.", _H, 32, "Airtable", sample="pat" + _ALNUM[:14] + "."),
    _token("hubspot_token", r"pat-[a-z]{2,3}[0-9]-", r"[0-9a-f\-]", 24, "HubSpot", sample="pat-na1-"),
    _token("typeform_token", "tfp_", r"[A-Za-z0-9_.=\-]", 20, "gitleaks"),
    _token("readme_key", "rdme_", "[a-z0-9]", 30, "gitleaks", most=70),
    _token("frameio_token", "fio-u-", r"[A-Za-z0-9_=\-]", 20, "gitleaks"),
    _token("contentful_token", "CFPAT-", _W, 16, "Contentful"),
    # Mail and messages
    _token("sendgrid_key", r"SG\.", r"[A-Za-z0-9_.\-]", 16, "gitleaks", most=60),
    Family(
        "twilio_key",
        r"\b(?:SK|AC)[0-9a-f]{32}\b",
        r"\<(?:SK|AC)[0-9a-f]{32}",
        "SK" + _HEX[:32],
        "gitleaks",
    ),
    Family(
        "mailchimp_key",
        r"\b[0-9a-f]{32}-us[0-9]{1,2}\b",
        r"[0-9a-f]{4}-us[0-9]",
        _HEX[:32] + "-us12",
        "gitleaks",
    ),
    _token("mailgun_key", "key-", _H, 32, "gitleaks"),
    _token("brevo_key", "xkeysib-|xsmtpsib-", _W, 30, "gitleaks", sample="xkeysib-", most=64),
    _token("resend_key", "re_", r"[A-Za-z0-9_]", 24, "Resend", guard="token"),
    # Money and shops
    _token("stripe_key", r"[srp]k_(?:live|test|prod)_", _A, 10, "gitleaks", sample="sk_live_"),
    _token("stripe_key", "whsec_", r"[A-Za-z0-9+/=]", 16, "Stripe"),
    _token("square_token", r"sq0(?:atp|csp|idp)-|EAAA", _W, 22, "gitleaks", sample="sq0atp-", guard="token"),
    _token("shopify_token", "shp(?:at|ca|pa|ss)_", _A, 20, "gitleaks", sample="shpat_"),
    _token(
        "plaid_token",
        "access-(?:sandbox|development|production)-",
        r"[0-9a-f\-]",
        24,
        "gitleaks",
        sample="access-sandbox-",
    ),
    _token("flutterwave_key", r"FLWSECK(?:_TEST)?-", r"[A-Za-z0-9\-]", 12, "gitleaks", sample="FLWSECK_TEST-"),
    _token("duffel_token", "duffel_(?:test|live)_", r"[A-Za-z0-9_=\-]", 20, "gitleaks", sample="duffel_test_"),
    _token("shippo_token", "shippo_(?:live|test)_", _A, 20, "gitleaks", sample="shippo_test_"),
    _token("easypost_key", "EZ[AT]K", _A, 40, "gitleaks", sample="EZAK", most=54),
    _token("facebook_token", "EAA[A-Z]", _A, 60, "gitleaks", sample="EAAC", most=100),
    Family(
        "maxmind_key",
        r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b",
        r"[A-Za-z0-9]_mmk",
        _ALNUM[:6] + "_" + _ALNUM[:29] + "_mmk",
        "gitleaks",
    ),
    _token("infracost_key", "ico-", _A, 30, "gitleaks", guard="token"),
    _token("adobe_secret", "p8e-", _A, 30, "gitleaks"),
    # Anybody's
    Family(
        "jwt",
        r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
        r"\.eyJ[A-Za-z0-9_\-]{8}",
        "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl",
        "RFC 7519",
    ),
    Family(
        "url_password",
        # A password may hold any of `/@:`; of a port with a path and an address behind it, the guard knows.
        r"(?i)\b[a-z][a-z0-9+.\-]{1,20}:/{2}[^\s/:@\"'<>\[]{0,200}:([^\s\"'<>]+)@[a-z0-9\[_\-%]",
        r":\\?/\\?/[^\s/:@\"'<>]*:[^\s\"'<>]+@",
        "postgres://app:⟨p4ss/w0rd@⟩@db.test/x",
        "RFC 3986",
        "url",
    ),
    Family(
        "url_token",
        r"(?i)\bhttps?://([a-z0-9_\-]{20,})@[a-z0-9\[]",
        r"(?i):\\?/\\?/[a-z0-9_\-]+@",
        "https://⟨" + _ALNUM[:40] + "⟩@git.test/x",
        "git over HTTPS",
        "token",
    ),
    Family(
        "dsn_password",
        r"\b[A-Za-z0-9_.\-]{1,60}:([^\s\"'<>]+)@(?:tcp|udp|unix|cloudsql)\(",
        r"@(?:tcp|udp|unix|cloudsql)\(",
        "app:⟨p4ssw0rd⟩@tcp(db.test:3306)/x",
        "Go's MySQL driver",
    ),
    Family(
        "azure_sas",
        r"(?i)[?&]sig=([A-Za-z0-9%+/=]{16,})",
        r"(?i)(?:[?&]|\\u0026)sig=[a-z0-9%+/\\]",
        "https://x.test/c?sv=1&sig=⟨" + "abcdefABCDEF%2B123456",
        "Azure's shared access signatures",
    ),
    Family(
        "bearer",
        r"(?i)\bbearer +([A-Za-z0-9_\-.~+/]{12,}=*)",
        r"(?i)bearer +[A-Za-z0-9_\-.~+/\\]{12}",
        "Bearer ⟨abcDEF123456xyz",
        "RFC 6750",
        "plain",
    ),
    Family(
        "cookie",
        r"(?i)\b(?:set-)?cookie2?(?:\\*[\"'])?\s{0,4}:\s{0,4}(?:\\*[\"'])?([^\s=\"'\\]{1,60}=[^\r\n\"'\\]{4,})",
        r"(?i)cookie2?(?:[\s\"'\\]|\\[nrtf]|\\u000[cC])*[=:][=>\s\"'\\]*[^\s=\"'\\]+=",
        "Cookie: ⟨session=abcdef123456",
        "RFC 6265",
    ),
    Family(
        "sql_password",
        r"(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?\\*[\"']([^\"'\\\r\n]+)",
        r"(?i)identified",
        "CREATE USER app IDENTIFIED BY '⟨tr0ub4dor",
        "SQL",
    ),
    Family(
        "netrc_password",
        r"(?i)\blogin\s+\S{1,200}\s+password\s+([^\s\"']+)",
        r"(?i)login(?:\s|\\[nrt])+[^\s\"]+?(?:\s|\\[nrt])+password",
        "machine x.test login app password ⟨tr0ub4dor",
        "netrc",
        "plain",
    ),
)
