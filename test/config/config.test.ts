import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ConfigError,
  readConfig,
  readServeConfig,
  redactedConfig,
  requireServeConfig,
} from "../../src/config/config.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-config-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const OWNER = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function file(name: string, content: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

describe("the configuration", () => {
  it("fills in every default", () => {
    expect(readConfig({})).toMatchObject({
      HOST: "0.0.0.0",
      PORT: 8080,
      GRPC_PORT: 9090,
      QUOTE_TTL_SECONDS: 300,
      MEMO_PREFIX: "svc",
      PAYMENT_WAIT_MS: 10_000,
      FINALIZED_ABOVE_MICROUSD: 50_000_000,
      RUN_LEASE_MS: 15_000,
      BODY_LIMIT_BYTES: 1_048_576,
      upstreams: [],
    });
  });

  it("treats an empty variable as unset", () => {
    expect(readConfig({ PORT: "", DATABASE_URL: "" })).toMatchObject({ PORT: 8080 });
  });

  it("reports every problem at once with the setting's name", () => {
    const problems = problemsOf(() =>
      readConfig({
        PORT: "70000",
        QUOTE_TTL_SECONDS: "soon",
        MEMO_PREFIX: "a:b",
        DATABASE_URL: "mysql://x",
        SOLANA_RPC_URLS: "ftp://x",
        TREASURY_OWNER: "me",
        LOG_LEVEL: "loud",
      }),
    );
    expect(
      problems.map((problem) => problem.split(/[.:]/)[0] ?? "").toSorted((a, b) => a.localeCompare(b)),
    ).toEqual([
      "DATABASE_URL",
      "LOG_LEVEL",
      "MEMO_PREFIX",
      "PORT",
      "QUOTE_TTL_SECONDS",
      "SOLANA_RPC_URLS",
      "TREASURY_OWNER",
    ]);
  });

  it("names every setting that serve requires and lacks", () => {
    expect(problemsOf(() => requireServeConfig(readConfig({ TREASURY_OWNER: OWNER })))).toEqual([
      expect.stringContaining("DATABASE_URL"),
      expect.stringContaining("SOLANA_RPC_URLS"),
    ]);
  });

  it("reads several RPC endpoints in order", () => {
    expect(readConfig({ SOLANA_RPC_URLS: "https://a.example/x, https://b.example" }).SOLANA_RPC_URLS).toEqual(
      ["https://a.example/x", "https://b.example"],
    );
  });

  it("reads prices and models from JSON and YAML", () => {
    const json = file("a.json", JSON.stringify({ prices: { vram_estimate: { flat_microusd: 2500 } } }));
    const yaml = file("a.yaml", "prices:\n  vram_estimate:\n    flat_microusd: 2500\n");
    for (const file of [json, yaml])
      expect(readConfig({ TOOLGATE_CONFIG: file }).prices["vram_estimate"]?.["flat_microusd"]).toBe(2500n);
  });

  it("rejects unknown members by path, and unreadable files", () => {
    const typo = file("typo.json", JSON.stringify({ prices: { vram_estimate: { flat_microus: 2500 } } }));
    expect(problemsOf(() => readConfig({ TOOLGATE_CONFIG: typo }))).toEqual([
      expect.stringMatching(/prices\.vram_estimate.*flat_microus/),
    ]);
    expect(problemsOf(() => readConfig({ TOOLGATE_CONFIG: file("bad.json", "{") }))).toEqual([
      expect.stringContaining("TOOLGATE_CONFIG"),
    ]);
    expect(problemsOf(() => readConfig({ TOOLGATE_CONFIG: path.join(folder, "none") }))).toEqual([
      expect.stringContaining("TOOLGATE_CONFIG"),
    ]);
  });

  it("reads secrets from the files that NAME_FILE names, also those of the configuration file", () => {
    const database = file("database", "postgres://u:p@h/d\n");
    const config = file(
      "keyed.yaml",
      "inference:\n  upstreams:\n    - name: a\n      base_url: http://127.0.0.1:1/v1\n" +
        "      api_key_env: TOOL_A_KEY\n",
    );
    const read = readConfig({
      DATABASE_URL_FILE: database,
      TOOLGATE_CONFIG: config,
      TOOL_A_KEY_FILE: file("key", "sk-a\n"),
    });
    expect(read.DATABASE_URL).toBe("postgres://u:p@h/d");
    expect(read.upstreams.map(({ apiKey }) => apiKey)).toEqual(["sk-a"]);
  });

  it.each([
    ["is set twice", { DATABASE_URL: "postgres://h/d", DATABASE_URL_FILE: "none" }, "remove one"],
    ["cannot be read", { DATABASE_URL_FILE: "/none/there" }, "/none/there cannot be read .ENOENT."],
    ["is empty", { DATABASE_URL_FILE: "/dev/null" }, "/dev/null is empty"],
  ])("names the file of a secret that %s", (_, environment, reason) => {
    expect(problemsOf(() => readServeConfig(environment))).toContainEqual(
      expect.stringMatching(new RegExp(`^DATABASE_URL_FILE: .*${reason}`)),
    );
    expect(problemsOf(() => readServeConfig(environment))).not.toContainEqual(
      expect.stringContaining("DATABASE_URL: is not set"),
    );
  });

  it("prints the configuration without secrets", () => {
    const printed = JSON.stringify(
      redactedConfig(
        readConfig({
          DATABASE_URL: "postgres://u:secret1@h/d",
          SOLANA_RPC_URLS: "https://h/?key=secret2",
          INFERENCE_API_KEY: "secret3",
          INFERENCE_BASE_URL: "http://h/v1",
        }),
      ),
    );
    expect(printed).not.toMatch(/secret/);
    expect(printed).toContain("***");
  });
});
