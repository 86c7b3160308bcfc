import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { readConfig, ConfigError, collectSecrets } from "../../../src/config/config.ts";
import { customToolProblems, openCustomTools } from "../../../src/gateway/custom-tools.ts";
import { createLogger } from "../../../src/log.ts";
import { customToolsSchema } from "../../../src/tools/custom/config.ts";
import { planOperation } from "../../../src/tools/custom/http/http-backend.ts";
import { BUILT_IN_NAMES, makeTools, pricesSchema } from "../../../src/tools/index.ts";
import { documentFolder, openapi, operation } from "./http/third-party.ts";

/** The `tools` section of the configuration file and its startup errors. */

const folder = documentFolder();
afterAll(() => folder[Symbol.dispose]());

const http = { openapi: "api.json", operation_id: "op" };
const tool = { name: "t", price: { free: true }, http };

function read(tools: object[], env: Record<string, string> = {}) {
  return readConfig({ ...env, TOOLGATE_CONFIG: folder.write("toolgate.json", { tools }) });
}

function problemsOf(tools: object[], env: Record<string, string> = {}): readonly string[] {
  try {
    read(tools, env);
    return [];
  } catch (error) {
    return (error as ConfigError).problems.map((problem) => problem.replace(/^.*toolgate\.json: /, ""));
  }
}

describe("custom tools in the configuration file", () => {
  it.each<[string, object, string]>([
    ["a name of the gateway's own", { name: "echo" }, ".name: echo is a built-in tool; choose another name"],
    [
      "a name that is none",
      { name: "Wetter" },
      ".name: must be 1 to 64 characters of a-z, 0-9 and _, and begin with a letter",
    ],
    ["nothing behind it", { http: undefined }, ": must have exactly one of http, grpc and mcp"],
    [
      "two things behind it",
      { mcp: { url: "https://m.example", tool: "x" } },
      ": must have exactly one of http, grpc and mcp",
    ],
    ["a misspelt member", { timeout: 5 }, ': Unrecognized key: "timeout"'],
    [
      "a header that is no metadata of gRPC",
      {
        http: undefined,
        grpc: { address: "g.example:1", method: "a.B/C" },
        headers_env: { "X-Key-Bin": "TOOL_SET" },
      },
      ".headers_env.X-Key-Bin: is not a valid name of gRPC text metadata",
    ],
    [
      "a header without its variable",
      { headers_env: { "X-Key": "TOOL_NOT_SET" } },
      ".headers_env.X-Key: the environment variable TOOL_NOT_SET is not set",
    ],
    [
      "a header of the gateway's own",
      { headers_env: { Host: "TOOL_SET" } },
      ".headers_env.Host: is set by the gateway itself; leave it out",
    ],
    [
      "a header that is none",
      { headers_env: { "X Key": "TOOL_SET" } },
      ".headers_env.X Key: is not a valid header name",
    ],
    [
      "a header of two lines",
      { headers_env: { "X-Key": "TOOL_LINES" } },
      ".headers_env.X-Key: the value of TOOL_LINES must be visible characters of ASCII, without line breaks",
    ],
    [
      "an address of this machine",
      { http: { ...http, server_url: "http://127.1" } },
      ".http.server_url: 127.0.0.1 is a private address; add it to allow_hosts if the server is your own",
    ],
    [
      "an address of this link",
      { network: "any", http: { ...http, server_url: "http://[fe80::1]/" } },
      ".http.server_url: fe80::1 is not allowed",
    ],
    [
      "a password in an address",
      { http: { ...http, server_url: "https://a:b@c.example" } },
      ".http.server_url: must not contain a user name or password; put secrets into headers_env",
    ],
    [
      "a private gRPC server",
      { http: undefined, grpc: { address: "10.0.0.1:50051", method: "a.B/C" } },
      ".grpc.address: 10.0.0.1 is a private address; add it to allow_hosts if the server is your own",
    ],
    [
      "a private MCP server",
      { http: undefined, mcp: { url: "http://192.168.0.1/mcp", tool: "x" } },
      ".mcp.url: 192.168.0.1 is a private address; add it to allow_hosts if the server is your own",
    ],
  ])("rejects tools with %s", (_, more, problem) => {
    const problems = problemsOf([{ ...tool, ...more }], { TOOL_SET: "value1", TOOL_LINES: "a\r\nb" });
    expect(problems).toEqual([`tools[0]${problem}`]);
  });

  it("reports all problems at once", () => {
    const problems = problemsOf([
      tool,
      { ...tool, headers_env: { "X-Key": "TOOL_NOPE" } },
      { ...tool, name: "get_status" },
    ]);
    expect(problems).toHaveLength(3);
  });

  it("allows this machine if the operator says so", () => {
    const local = { ...tool, http: { ...http, server_url: "http://127.0.0.1:1" } };
    expect(problemsOf([{ ...local, allow_hosts: ["127.0.0.1"] }])).toEqual([]);
    expect(problemsOf([{ ...local, network: "any" }])).toEqual([]);
    const six = { ...tool, http: { ...http, server_url: "http://[::1]:1" } };
    expect(problemsOf([{ ...six, allow_hosts: ["[::1]"] }])).toEqual([]);
  });

  it("redacts header values in logs, including a Basic password on its own", () => {
    const basic = `Basic ${Buffer.from("user:correct horse").toString("base64")}`;
    const { tools } = read(
      [{ ...tool, headers_env: { Authorization: "TOOL_BASIC", "X-Short": "TOOL_SHORT" } }],
      {
        TOOL_BASIC: basic,
        TOOL_SHORT: "v2",
      },
    );
    const secrets = collectSecrets({
      upstreams: [],
      tools,
      DATABASE_URL: undefined,
      SOLANA_RPC_URLS: undefined,
    });
    expect(secrets).toEqual(
      expect.arrayContaining([basic, basic.slice(6), "user:correct horse", "correct horse"]),
    );
    expect(secrets).not.toContain("v2");
  });

  it("rejects the names of built-in tools", () => {
    const deps = {
      version: "1",
      balance: async () => 0n,
      prices: pricesSchema.parse(undefined),
      inference: undefined,
      sandbox: undefined,
      customTools: [],
    };
    expect(BUILT_IN_NAMES).toEqual(expect.arrayContaining(makeTools(deps).map(({ name }) => name)));
  });
});

describe("docs/guides/custom-tools.md", () => {
  it("docs/guides/custom-tools.md shows a valid file with every member", () => {
    const page = readFileSync("docs/guides/custom-tools.md", "utf8");
    const { tools } = parse(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? "");
    expect(problemsOf(tools, { TOOL_WEATHER_KEY: "weather-key" })).toEqual([]);
    const { element } = customToolsSchema.unwrap();
    for (const member of Object.keys(element.shape))
      expect(page).toMatch(new RegExp(`^  [- ] ${member}:`, "m"));
  });
});

describe("unusable documents", () => {
  const log = createLogger("silent", { secrets: [] });
  const startWith = async (document: object | string, more: object = {}) => {
    folder.write("api.json", document);
    const settings = read([{ ...tool, ...more }]);
    const problems = await customToolProblems(settings, log);
    if (problems.length > 0) throw new ConfigError(problems);
    const opened = await openCustomTools(settings, log);
    await opened.close();
    return opened;
  };
  const server = { servers: [{ url: "https://api.example" }] };
  const post = (more: object) => openapi({ "/a": { post: operation("op", more) } }, server);

  it.each<[string, object | string, RegExp]>([
    ["no document", "nothing: here", /api\.json is not an OpenAPI document of version 3\.0 or 3\.1/],
    ["not YAML", "{", /api\.json cannot be read as JSON or YAML/],
    ["another version", { openapi: "2.0", paths: {} }, /version 3\.0 or 3\.1/],
    [
      "invalid",
      openapi({ "/a": { get: { operationId: "op", parameters: [{ name: "x", in: "nowhere" }] } } }, server),
      /is not a valid OpenAPI document \(#\/paths/,
    ],
    [
      "with references in a circle",
      openapi({ "/a": { $ref: "#/paths/~1a" } }, server),
      /resolves only to references/,
    ],
  ])("reports at startup that %s", async (_, document, problem) => {
    await expect(startWith(document)).rejects.toMatchObject({ problems: [expect.stringMatching(problem)] });
  });

  it("checks a document while the clock runs far faster than the machine", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const check = { over: false };
    const started = startWith(post({ summary: "unchecked" })).finally(() => (check.over = true));
    started.catch(() => {});
    while (!check.over) await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    expect((await started).tools).toHaveLength(1);
  });

  it.each<[string, object, RegExp]>([
    [
      "without the operation",
      openapi({ "/a": { get: operation("other") } }, server),
      /has no operation op with .*; there are other/,
    ],
    [
      "with the operation twice",
      openapi({ "/a": { get: operation("op"), post: operation("op") } }, server),
      /has the operation op twice/,
    ],
    ["without a server", openapi({ "/a": { get: operation("op") } }), /names no server URL; set server_url/],
    [
      "with a server inside",
      openapi({ "/a": { get: operation("op") } }, { servers: [{ url: "http://10.0.0.1" }] }),
      /names the server 10\.0\.0\.1, which is blocked/,
    ],
    [
      "with a path that lacks a parameter",
      openapi({ "/a/{id}": { get: operation("op") } }, server),
      /without the parameters id/,
    ],
    [
      "with a body of another kind",
      post({ requestBody: { required: true, content: { "multipart/form-data": {} } } }),
      /wants a body of multipart\/form-data/,
    ],
    [
      "with a body of a GET",
      openapi({ "/a": { get: operation("op", { requestBody: { required: true, content: {} } }) } }, server),
      /requires a body with GET/,
    ],
    [
      "with a parameter that no schema can name",
      post({ parameters: [{ name: "__proto__", in: "query", schema: {} }] }),
      /has a parameter called __proto__/,
    ],
    [
      "with parts elsewhere",
      post({ parameters: [{ name: "x", in: "query", schema: { $ref: "other.yaml#/x" } }] }),
      /points outside the document/,
    ],
    [
      "with parts nowhere",
      post({ parameters: [{ name: "x", in: "query", schema: { $ref: "#/components/schemas/X" } }] }),
      /does not exist/,
    ],
  ])("has no operation to offer: %s", (_, root, problem) => {
    const plan = () =>
      planOperation({ version: "3.1", root: JSON.parse(JSON.stringify(root)) }, http, [], {
        network: "public",
      });
    expect(plan).toThrow(problem);
  });

  it("is reported together with an invalid price expression", async () => {
    await expect(startWith("{", { price: { expression: "other" } })).rejects.toMatchObject({
      problems: [
        expect.stringMatching(/^tools\[0\]\.http\.openapi: /),
        expect.stringMatching(/^tools\[0\]\.price\.expression: uses the unknown names other/),
      ],
    });
  });

  it("accepts schemas that are recursive, widely shared, or of OpenAPI 3.0", async () => {
    const schemas = {
      Tree: {
        type: "object",
        properties: { children: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
      },
      // Fully expanded, the last schema would exceed all memory.
      ...Object.fromEntries(
        Array.from({ length: 60 }, (_, level) => [
          `L${level}`,
          {
            type: "object",
            properties: Object.fromEntries(
              ["a", "b", "c"].map((name) => [
                name,
                level === 0 ? { type: "string" } : { $ref: `#/components/schemas/L${level - 1}` },
              ]),
            ),
          },
        ]),
      ),
      Old: { type: "number", minimum: 0, exclusiveMinimum: true, nullable: true, example: 3 },
      Entity: {
        type: "object",
        required: ["id", "size"],
        properties: {
          id: { type: "string", readOnly: true },
          size: {
            type: "integer",
            format: "int32",
            minimum: -5,
            nullable: true,
            enum: [1, 2],
            deprecated: true,
          },
          data: { type: "string", format: "byte", writeOnly: true },
        },
      },
    };
    const properties = {
      tree: { $ref: "#/components/schemas/Tree" },
      many: { $ref: "#/components/schemas/L59" },
      old: { $ref: "#/components/schemas/Old" },
      entity: { $ref: "#/components/schemas/Entity" },
    };
    const requestBody = { content: { "application/json": { schema: { type: "object", properties } } } };
    const document = {
      ...openapi(
        { "/a": { post: operation("op", { requestBody }) } },
        { ...server, components: { schemas } },
      ),
      openapi: "3.0.3",
    };
    const { tools } = await startWith(document);
    const [one] = tools;
    expect(one?.inputSchema).toMatchObject({
      $defs: {
        Old: { type: ["number", "null"], exclusiveMinimum: 0 },
        Tree: { properties: { children: { items: { $ref: "#/$defs/Tree" } } } },
      },
    });
    expect(one?.inputSchema).toHaveProperty("$defs.Entity", {
      type: "object",
      required: ["size"],
      properties: {
        size: {
          ...{ type: ["integer", "null"], format: "int32", enum: [1, 2, null] },
          ...{ minimum: -5, maximum: 2_147_483_647 },
        },
        data: { type: "string", format: "byte", pattern: "^[\\w\\d+\\/=]*$" },
      },
    });
    expect(() => one?.prepare({ body: { tree: { children: [{ children: 5 }] } } })).toThrow(
      "params.body.tree.children[0].children: must be an array, not a number",
    );
    expect(() => one?.prepare({ body: { old: 0 } })).toThrow("params.body.old: must be more than 0");
    expect(one?.prepare({ body: { old: null } }).price).toBe(0n);
  });
});
