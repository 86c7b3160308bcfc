import { afterAll, describe, expect, it } from "vitest";
import { restartPort } from "../support/ports.ts";
import { openDatabase } from "../support/postgres.ts";
import { documentFolder, openapi, operation, startThirdParty } from "../tools/custom/http/third-party.ts";
import { readConfig } from "../../src/config/config.ts";
import { unavailableTools } from "../../src/gateway/custom-tools.ts";
import { createLogger } from "../../src/log.ts";
import { startLyingServer } from "../tools/custom/mcp/servers.ts";
import { runToolgateHere } from "./toolgate.ts";

const folder = documentFolder();
afterAll(() => folder[Symbol.dispose]());
const database = await openDatabase();
/** Without a version of the configuration. */
const fresh = await openDatabase();

const run = (...args: string[]) =>
  runToolgateHere({ DATABASE_URL: database.servingUrl }, ["config", ...args]);

/** Writes a document with a tool of an OpenAPI document that needs these parameters. */
function write(name: string, price: number, required: readonly string[], more: object = {}): string {
  const parameters = required.map((one) => ({
    name: one,
    in: "query",
    required: true,
    schema: { type: "string" },
  }));
  const servers = [{ url: "https://notes.example" }];
  folder.write(
    `${name}.api.json`,
    openapi({ "/n": { get: operation("note", { parameters }) } }, { servers }),
  );
  const http = { openapi: `${name}.api.json`, operation_id: "note" };
  const tool = {
    name: "note",
    price: { flat_microusd: price },
    http,
    headers_env: { "X-Key": "TOOL_NOTE_KEY" },
  };
  return folder.write(`${name}.json`, { tools: [tool], ...more });
}

describe("toolgate config", () => {
  it("plans in words, applies, keeps the history and rolls back", async () => {
    const first = write("first", 1_000, []);
    expect((await run("validate", first)).stdout).toContain("TOOL_NOTE_KEY is not set");
    const planned = await run("plan", first);
    expect(planned.code).toBe(3);
    expect(planned.stdout).toContain("- tool note: appears, $0.001");
    expect((await run("apply", first, "--note", "start")).stdout).toContain("Version 1 is in force.");
    expect((await run("plan", first)).code).toBe(0);
    expect((await run("apply", first)).stdout).toBe("Version 1 is in force: nothing to do.\n");

    const second = write("second", 2_000, ["text"], { prices: { vram_estimate: { flat_microusd: 5_000 } } });
    const [{ version, changes }] = (await run("plan", second, "--json")).rows as [
      { version: number; changes: { text: string }[] },
    ];
    expect(version).toBe(1);
    expect(changes.map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        "tool note: $0.001 → $0.002",
        "tool note: breaks its callers: params.text becomes required",
        "prices.vram_estimate.flat_microusd: $0.001 (its default) → $0.005",
      ]),
    );
    const outdated = await run("apply", second, "--expect", "0");
    expect(outdated).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("version 1 is in force by now"),
    });
    expect((await run("apply", second, "--expect", "1")).code).toBe(0);
    expect((await run("rollback")).stdout).toContain("Version 3 is in force.");
    expect(
      (await run("history", "--json")).rows.map((row) => [row["version"], row["source"], row["note"]]),
    ).toEqual([
      [3, "rollback", "rollback to version 1"],
      [2, "apply", null],
      [1, "apply", "start"],
    ]);
    expect((await run("show")).stdout).toBe((await run("show", "1")).stdout);
    const { rows } = await runToolgateHere({ DATABASE_URL: database.servingUrl }, [
      "operations",
      "actions",
      "--json",
    ]);
    expect(rows.map((row) => [row["action"], row["failure"] === null])).toEqual([
      ["config.rollback", true],
      ["config.apply", true],
      ["config.apply", false],
      ["config.apply", true],
      ["config.apply", true],
    ]);
  });

  it("tries a tool of a file on its real server", async () => {
    const party = await startThirdParty();
    try {
      const servers = [{ url: party.url }];
      folder.write("tried.api.json", openapi({ "/n": { get: operation("note") } }, { servers }));
      const http = { openapi: "tried.api.json", operation_id: "note" };
      const tool = { name: "note", price: { flat_microusd: 70 }, http, allow_hosts: ["127.0.0.1"] };
      const file = folder.write("tried.json", { tools: [tool] });
      const tried = (name: string, ...args: string[]) =>
        runToolgateHere({}, ["tools", "try", name, "--file", file, ...args]);
      expect((await tried("note", "--json")).rows).toEqual([
        { tool: "note", price_usdc_microusd: 70, charge_usdc_microusd: 70, result: { fine: true } },
      ]);
      expect((await tried("none")).stderr).toContain("has no custom tool none; it has note");
      expect((await tried("note", "--params", "[]")).code).toBe(2);
    } finally {
      await party.close();
    }
  });

  it("finds every mistake of a file at once, those of prices and operations too", async () => {
    const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
    const requestBody = { content: { "application/json": { schema } } };
    folder.write(
      "words.api.json",
      openapi(
        { "/n": { post: operation("count", { requestBody }) } },
        { servers: [{ url: "https://words.example" }] },
      ),
    );
    const http = { openapi: "words.api.json", operation_id: "count" };
    const priced = (expression: string) => ({ name: "words", price: { expression }, http });
    const wrong = { name: "other", price: { flat_microusd: 1 }, http: { ...http, operation_id: "cuont" } };
    const validate = (name: string, content: object) => run("validate", folder.write(name, content));
    const price =
      "tools[0].price.expression: names params.text, which does not exist; there is params.body.text";
    const operationId = /tools\[1\]\.http\.openapi: .*cuont.*count/;
    const both = await validate("both.json", { tools: [priced("size(params.text)"), wrong] });
    expect([both.code, both.stderr]).toEqual([1, expect.stringContaining(price)]);
    expect(both.stderr).toMatch(operationId);
    const formless = await validate("formless.json", {
      pricse: {},
      tools: [{ ...priced("params.body.text"), scope: "none" }, wrong, priced('size(params["text"])')],
    });
    expect(formless.stderr).toContain('"pricse"');
    expect(formless.stderr).toContain("tools[0].scope:");
    expect(formless.stderr).toMatch(operationId);
    expect(formless.stderr).toContain("tools[2].price.expression: names params.text");
    const taken = await validate("taken.json", { tools: [{ ...wrong, name: "echo" }, wrong] });
    expect(taken.stderr).toContain("tools[0].name: echo is a built-in tool");
    expect(taken.stderr).toMatch(operationId);
    expect((await validate("good.json", { tools: [priced("1 + size(params.body.text)")] })).code).toBe(0);
  });

  it("says what to do instead of a rollback before the second version", async () => {
    const config = (...args: string[]) =>
      runToolgateHere({ DATABASE_URL: fresh.servingUrl }, ["config", ...args]);
    expect((await config("rollback")).stderr).toContain("apply a file first (config apply)");
    await config("apply", folder.write("one.json", { prices: { vram_estimate: { flat_microusd: 1_000 } } }));
    expect(await config("rollback")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        "version 1 is the first: there is none before it to return to; apply a file",
      ),
    });
    const { stdout } = await config(
      "plan",
      folder.write("two.json", { inference: { default_model: { input_usd_per_million: 2 } } }),
    );
    // The default price was spelt out: nothing changes there.
    expect(stdout.split("\n").slice(1, -1)).toEqual([
      "! inference.default_model.input_usd_per_million: 0.5 (its default) → 2",
    ]);
  });

  it("names the setting that a misspelt variable nearly is", async () => {
    const settings = {
      DATABSE_POOL: "5",
      LOG_LEVLE_FILE: "/x",
      TOOL_PORTS: "1",
      DATABASE_URL: "",
      PATHS: "",
    };
    const { stderr } = await runToolgateHere(settings, ["serve", "--print-config", "--json"]);
    expect(stderr.split("\n")).toEqual([
      "warning: DATABSE_POOL: is no setting, and is ignored; do you mean DATABASE_POOL?",
      "warning: LOG_LEVLE_FILE: is no setting, and is ignored; do you mean LOG_LEVEL_FILE?",
      "",
    ]);
    const doctor = await runToolgateHere({ DATABASE_ULR: "postgresql://x/y" }, ["doctor"]);
    expect(doctor.stdout).toContain("DATABASE_ULR: is no setting, and is ignored; do you mean DATABASE_URL?");
  });

  it("says on one line why a tool cannot be tried", async () => {
    const lying = await startLyingServer(() => {}, {
      name: "odd",
      inputSchema: { type: "object", required: 5 },
    });
    try {
      const tool = { name: "odd", price: { flat_microusd: 70 }, allow_hosts: ["127.0.0.1"] };
      const tried = async (mcp: object) => {
        const file = folder.write("odd.json", { tools: [{ ...tool, mcp }] });
        return runToolgateHere({}, ["tools", "try", "odd", "--file", file]);
      };
      const [problem, ...rest] = [
        await tried({ url: lying.url, tool: "odd" }),
        await tried({ url: lying.url, tool: "b" }),
        await tried({ url: `http://127.0.0.1:${await restartPort()}/mcp`, tool: "odd" }),
      ];
      expect(problem).toEqual({
        ...{ code: 1, stdout: "", rows: [] },
        stderr: expect.stringMatching(
          /^TOOL_FAILED: odd is unavailable: the schema .*required must be array\n$/,
        ),
      });
      expect(rest.map(({ stderr }) => stderr)).toEqual([
        expect.stringMatching(/^TOOL_FAILED: odd is unavailable: the server http\S+ has no tool b\n$/),
        expect.stringMatching(/^TOOL_FAILED: odd is unavailable: .*ECONNREFUSED[^\n]*\n$/),
      ]);
      const config = readConfig({
        TOOLGATE_CONFIG: folder.write("odd.json", {
          tools: [{ ...tool, mcp: { url: lying.url, tool: "odd" } }],
        }),
      });
      expect(
        await unavailableTools(config, createLogger("silent", { secrets: [] }), AbortSignal.timeout(300_000)),
      ).toEqual([
        expect.stringMatching(/^tools\[0\]: odd is unavailable: the schema of its parameters cannot be used/),
      ]);
    } finally {
      lying.close();
    }
  });

  it("changes nothing for an invalid file and lists every problem with its path", async () => {
    const file = folder.write("invalid.json", {
      prices: { vram_estimate: { flat_microusd: 0 } },
      tools: [{ name: "echo", price: {}, http: { openapi: "none.json", operation_id: "x" } }],
    });
    for (const command of ["validate", "plan", "apply"]) {
      const { code, stderr } = await run(command, file);
      expect(code, command).toBe(1);
      expect(stderr).toContain("prices.vram_estimate.flat_microusd:");
      expect(stderr).toContain("tools[0].price:");
    }
    const unreadable = folder.write("unreadable.json", {
      tools: [{ name: "echo", price: { free: true }, http: { openapi: "none.json", operation_id: "x" } }],
    });
    expect((await run("apply", unreadable)).stderr).toContain("tools[0].name: echo is a built-in tool");
    expect((await run("history", "--json")).rows[0]?.["version"]).toBe(3);
    expect((await run("apply")).code).toBe(2);
  });
});
