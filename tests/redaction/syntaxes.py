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
    # XML and property lists
    "<NAME>§</NAME>",
    '<NAME type="xs:string">§</NAME>',
    '<ns:NAME xsi:type="xsd:string" id="3">§</ns:NAME>',
    "<NAME><![CDATA[§]]></NAME>",
    "<NAME type='x'><![CDATA[§]]></NAME>",
    '<NAME\n    encoding="plain">\n  §\n</NAME>',
    "<NAME><value>§</value></NAME>",
    "<dict><key>NAME</key><string>§</string><key>Port</key><integer>5432</integer></dict>",
    "\t<key>NAME</key>\n\t<data>\n\t§\n\t</data>\n",
    '<entry key="NAME">§</entry>',
    '<property name="NAME" type="text">§</property>',
    '<setting name="NAME" serializeAs="String">\n  <value>§</value>\n</setting>',
    "<property>\n  <name>NAME</name>\n  <value>§</value>\n</property>",
    "<member><name>NAME</name><value><string>§</string></value></member>",
    "<tr><td>NAME</td><td>§</td><td>eu-west</td></tr>",
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
    "INSERT INTO users (name, NAME) VALUES ('app', '§')",
    "INSERT INTO users (name, NAME, age) VALUES ('app', '§', 7), ('other', '§', 8) ON CONFLICT DO NOTHING;",
    "insert into `users` (`NAME`, `name`) values ('§', 'it''s, or (so)');",
    'INSERT INTO "users" ("id", "NAME") VALUES (7, N\'§\') RETURNING id',
    "REPLACE INTO [users] ([id],[NAME]) VALUES (NOW(),crypt('§', gen_salt('bf')))",
    "SET NAME FOR 'app'@'%' = '§'",
    # PHP
    'a:2:{s:4:"name";s:3:"app";s:8:"NAME";s:14:"§";}',
    'O:4:"User":1:{s:8:"NAME";s:14:"§";}',
    'NAME|s:14:"§";',
    'array(1) {\n  ["NAME"]=>\n  string(14) "§"\n}',
    # Forms
    'Content-Disposition: form-data; name="NAME"\r\n\r\n§\r\n--b0undary',
    'Content-Disposition: form-data; name="NAME"\r\nContent-Type: text/plain\r\n\r\n§\r\n--b0undary--',
    "Content-Disposition: form-data; name=NAME\n\n§\n",
    # Headers
    'proxy_set_header NAME "§";',
    "http-request set-header NAME §",
    "curl -H 'NAME §' https://x.test",
    # Arguments
    '["agent", "--NAME", "§", "--verbose"]',
    "agent, --NAME, §, --verbose",
    "command:\n  - agent\n  - --NAME\n  - §\n  - --verbose",
    'argv[1]="--NAME" argv[2]="§"',
    '{"values":[{"stringValue":"--NAME"},{"stringValue":"§"}]}',
    "gh secret set NAME --body §",
    "gh secret set NAME -b '§' --repo app/x",
    'gh secret set NAME --body="§"',
    "az keyvault secret set --vault-name x --name NAME --value §",
    "aws ssm put-parameter --name /app/NAME --type SecureString --value '§'",
    # Shells
    "NAME<<EOF\n§\nEOF\n",
    "read NAME <<< '§'",
    "NAME=$(cat <<EOF\n§\nEOF\n)",
    "NAME = <<-EOT\n  §\nEOT\n",
    # OpenTelemetry
    '{"key":"NAME","value":{"stringValue":"§"}}',
    '{"key":"NAME","value":{"arrayValue":{"values":[{"stringValue":"§"}]}}}',
    '{"key":"NAME","value":{"kvlistValue":{"values":[{"key":"v","value":{"stringValue":"§"}}]}}}',
)

GLUED = ("_", "backup_", "x", "7", "ж", "日本", "é_", "v2ж")
"""What stands directly before a token."""

SPACED = ("Password", "Secret access key", "API key", "Client secret", "Access token")

OF_WORDS = (
    "name,NAME,link\napp,§,https://x.test\n",
    "Access key ID,NAME\neu-west,§\n",
    "logged in using NAME §",
    "login failed for app with NAME § at 10:00",
)
"""Those that take names of several words."""

HARMLESS = (
    "pnpm_config_store_dir2024 and shf_report2024final",
    "task-proj-a1b2c3 of risk_live_sessions2024",
    "INSERT INTO users (name, password) VALUES (:name, :password)",
    "INSERT INTO users (name, password) VALUES ('app', NULL), (?, $1), (%s, DEFAULT)",
    "INSERT INTO limits (name, max_tokens) VALUES ('gpt-5x', 128000)",
    "Access denied for user 'app' (using password: YES)",
    "set a secret, config into logs,\npublic docs, pages of v2x",
    "gh secret set DEPLOY --body $DEPLOY_TOKEN",
    'gh issue create --label secret --body "A text of 2 lines"',
    "retried with token refresh",
    "the login password policy of account 7x2",
    '<xs:element name="password" type="xs:string"/>',
    '<input name="password" type="password"> Forgot it?',
    '<label for="password" class="x">Password</label><input name="password">',
    "<th>Password</th><th>Token</th><th>Role</th>",
    '<password minlength="8">required</password>',
    '<token type="keyword">return</token>',
    "sh: password: permission denied",
    "<key>tokens</key><integer>128000</integer>",
    'a:1:{s:5:"token";N;s:12:"max_tokens_x";i:4096;}',
    'Content-Disposition: form-data; name="password"\r\n\r\n\r\n--b0undary',
    "cat <<EOF > token.txt\nhello\nEOF\n",
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
