import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readConfig, collectSecrets } from "../../src/config/config.ts";
import { SECRET_SETTINGS, settings } from "../../src/config/settings.ts";

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-secrets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As long as secrets of clients have to be. */
const HUSH = "hush-hush-hush-hush-hush-hush-hush";

/** Values with the secret; others are the secret itself. */
const SAMPLES: Readonly<Record<string, string>> = {
  DATABASE_URL: `postgresql://app:${HUSH}@db/toolgate`,
  DATABASE_DIRECT_URL: `postgresql://app:${HUSH}@db/toolgate`,
  DATABASE_READ_URL: `postgresql://app:${HUSH}@db/toolgate`,
  CELL_DATABASE_URLS: `1=postgresql://app:${HUSH}@db/toolgate`,
  SOLANA_RPC_URLS: `https://rpc.example/?api-key=${HUSH}`,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${HUSH}`,
  OAUTH_CLIENTS: `[{"client_id":"bot","client_secret":"${HUSH}"}]`,
};

/** Names that look like secrets: a switch, an identifier, and paths of key files. */
const NO_SECRETS: ReadonlySet<string> = new Set([
  "X402_KEYLESS",
  "AWS_ACCESS_KEY_ID",
  "FEE_PAYER_KEYPAIR",
  "TLS_KEY",
]);

const secretsOf = (settings: Record<string, string>) => collectSecrets(readConfig(settings));

describe("the secrets of a configuration", () => {
  it.each([
    ["before the host", "postgresql://app:hush-hush@db/toolgate", ["hush-hush"]],
    ["without a user", "postgresql://:hush-hush@db/toolgate", ["hush-hush"]],
    [
      "written in percent",
      "postgresql://app:hush%40h%C3%BCsh@db/toolgate",
      ["hush%40h%C3%BCsh", "hush@hüsh"],
    ],
    ["with signs that need none", "postgresql://app:hush:hu@sh@db/toolgate", ["hush:hu@sh"]],
    ["with a percent sign that is one", "postgresql://app:hush%zz%40hush@db/toolgate", ["hush%zz@hush"]],
    ["in the query", "postgresql://db/toolgate?user=app&password=hush-hush", ["hush-hush"]],
    ["in the query, for a socket", "postgresql:///toolgate?host=/run&password=hush-hush", ["hush-hush"]],
    [
      "in the query, in percent",
      "postgres://db/t?password=hush%40+hush",
      ["hush%40+hush", "hush@ hush", "hush@+hush"],
    ],
    [
      "in the query twice",
      "postgres://db/t?password=first-hush&password=other-hush",
      ["first-hush", "other-hush"],
    ],
    ["of a key file", "postgres://app@db/t?sslpassword=hush-hush", ["hush-hush"]],
    ["in both places", "postgres://app:first-hush@db/t?password=other-hush", ["first-hush", "other-hush"]],
  ])("contain the database password %s", (_, url, expected) => {
    const secrets = secretsOf({ DATABASE_URL: url });
    for (const secret of expected) expect(secrets).toContain(secret);
    for (const word of ["toolgate", "postgres", "app", "db"]) expect(secrets).not.toContain(word);
  });

  it("contain credentials and keys of RPC URLs", () => {
    const url = "https://some%2Duser:hush%2Dhush@rpc.example/v2/0123456789abcdef0123?api-key=key%2Dkey";
    const secrets = secretsOf({ SOLANA_RPC_URLS: url });
    for (const secret of [
      "some%2Duser",
      "some-user",
      "hush-hush",
      "some-user:hush-hush",
      "0123456789abcdef0123",
    ])
      expect(secrets).toContain(secret);
    for (const secret of ["key-key", "key%2Dkey"]) expect(secrets).toContain(secret);
    expect(secrets.filter((secret) => /^(rpc|https|v2|api-key)/.test(secret))).toEqual([]);
  });

  it.each([...SECRET_SETTINGS])("contain %s, which may come from a file", (name) => {
    const others = { INFERENCE_BASE_URL: "https://model.example/v1" };
    const file = path.join(folder, name);
    writeFileSync(file, `${SAMPLES[name] ?? HUSH}\n`);
    expect(secretsOf({ ...others, [`${name}_FILE`]: file })).toContain(HUSH);
    expect(secretsOf({ ...others, [`${name}_FILE`]: file })).toEqual(
      secretsOf({ ...others, [name]: SAMPLES[name] ?? HUSH }),
    );
  });

  it("are all settings whose names look like it, and those that the documentation lists", () => {
    const looks = /KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|HEADERS|DATABASE.*_URL|RPC_URL|OAUTH_CLIENTS/;
    const found = Object.keys(settings).filter((name) => looks.test(name) && !NO_SECRETS.has(name));
    const byName = (one: string, other: string) => one.localeCompare(other);
    expect(found.toSorted(byName)).toEqual([...SECRET_SETTINGS].toSorted(byName));
    const page = readFileSync("docs/reference/configuration.md", "utf8");
    const [list = ""] = /\nSecrets can come from files[^]*?\n\n/.exec(page) ?? [];
    const listed = [...list.matchAll(/`([A-Z_]+)`/g)].map(([, name = ""]) => name);
    expect(listed.toSorted(byName)).toEqual([...SECRET_SETTINGS].toSorted(byName));
  });

  it("are empty without secrets in the configuration", () => {
    expect(secretsOf({})).toEqual([]);
    const plain = {
      DATABASE_URL: "postgres://app@db/t?sslmode=require",
      SOLANA_RPC_URLS: "https://rpc.example",
    };
    expect(secretsOf(plain)).toEqual([]);
  });
});
