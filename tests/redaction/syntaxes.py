"""Places that are named like a secret, in all syntaxes: `NAME` stands for the place's name and `§` for its value."""

from __future__ import annotations

VALUE = "tr0ub4dor-Zq81"
"""Made up. Nothing but its place says that it is a secret."""

NAMES = (
    "password", "Password", "DB_PASSWORD", "dbPassword", "api_key", "ApiKey", "API_KEY", "x-api-key", "token",
    "accessToken", "AUTH_TOKEN", "client_secret", "ClientSecret", "secret_access_key", "secretAccessKey", "access-key",
    "private_key",
)  # fmt: skip

SYNTAXES = (
    # YAML
    "db:\n  NAME: |\n    §\n  port: 5432\n",
    "db:\n  NAME: |\n    §\n    §\n  port: 5432\n",
    "NAME: >-\n  §\nport: 5432\n",
    "NAME: |2+\n  §\nport: 5432",
    "NAME: !!str §\nport: 5432",
    "NAME: !local §",
    "NAME: &shared §\nport: 5432",
    'NAME: &shared !!str "§"',
    "NAME:\n  §\n",
    "NAME:\n  - §\n  - §\nport: 5432\n",
    # SQL
    "NAME = N'§'",
    "UPDATE users SET NAME = E'§' WHERE id = 7",
    # PHP
    'array(1) {\n  ["NAME"]=>\n  string(14) "§"\n}',
    # Shells
    "NAME=$(cat <<EOF\n§\nEOF\n)",
    "NAME = <<-EOT\n  §\nEOT\n",
    # OpenTelemetry
    '{"key":"NAME","value":{"stringValue":"§"}}',
    '{"key":"NAME","value":{"arrayValue":{"values":[{"stringValue":"§"}]}}}',
    '{"key":"NAME","value":{"kvlistValue":{"values":[{"key":"v","value":{"stringValue":"§"}}]}}}',
)

HARMLESS = (
    "token: NonNullable<string>",
    "secret: Promise<Buffer>;",
    "login: (username, password) => Promise<void>",
    "password: [Circular]",
    "password: !vault",
    "password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  66386439653236336462626566653063",
    "password: !Ref DbPassword1",
    "api_key: !secret weather_key2",
    "bash: password: command not found",
    "line 3: password: unbound variable",
    "sh: 1: token: parameter not set",
    "pw=640px",
    "pass: 12.5em",
    "credentials:\n  region: eu-west-1\n  profile: default\n",
    "password:\n  type: string\n  format: password\n",
    "password: |\n  Eight characters or more, with one digit in them.\n",
    "invalid x-api-key\n| a1b2c3d4e5 |",
    "invalid x-api-key\nrequest_id a1b2c3d4e5",
    "| `required: 0.5` | has to pass |\ndocs/cases.md:316:| `required: 0.6` |",
    "| file | `auth.json` key |\ndocs/providers-of-models.md:81:Reference for all of them",
    "And to get the API key:\nhttps://x.test/\n",
)
