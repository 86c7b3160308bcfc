import { describe, expect, it } from "vitest";
import { parseDocument, resolveDocument } from "../../src/config/document.ts";

const SECRETS = { HOME: "/root", MODEL_KEY: "secret-model-key", INFERENCE_API_KEY: "secret-inference-key" };
const ENV = { ...SECRETS, INFERENCE_BASE_URL: "https://models.example/v1", TOOL_KEY: "tool-key" };
const note = {
  name: "note",
  price: { flat_microusd: 1 },
  mcp: { url: "https://evil.example/mcp", tool: "note" },
};

function resolve(document: object, environment: Record<string, string> = ENV) {
  const { content } = parseDocument(JSON.stringify(document), "document");
  return resolveDocument(content, environment, ".");
}

const tool = (variable: string) => ({ tools: [{ ...note, headers_env: { "X-Key": variable } }] });
const upstream = (more: object) => ({ inference: { upstreams: [{ name: "a", ...more }] } });
const elsewhere = { base_url: "https://evil.example/v1" };
const USE = "use a variable that begins with TOOL_ (TOOL_ENV_PREFIX)";

describe("variables that a document names", () => {
  it.each([
    [tool("HOME"), `tools[0].headers_env.X-Key: documents may not name HOME; ${USE}`],
    [tool("TOOLGATE_HOME"), `tools[0].headers_env.X-Key: documents may not name TOOLGATE_HOME; ${USE}`],
    [
      tool("INFERENCE_API_KEY"),
      `tools[0].headers_env.X-Key: INFERENCE_API_KEY is a setting of the gateway; ${USE}`,
    ],
    [
      tool("TOOL_ENV_PREFIX"),
      `tools[0].headers_env.X-Key: TOOL_ENV_PREFIX is a setting of the gateway; ${USE}`,
    ],
    [
      upstream({ ...elsewhere, api_key_env: "INFERENCE_API_KEY" }),
      `inference.upstreams[0].api_key_env: INFERENCE_API_KEY is a setting of the gateway; ${USE}`,
    ],
    [
      upstream({ ...elsewhere, headers_env: { "X-Key": "INFERENCE_API_KEY" } }),
      `inference.upstreams[0].headers_env.X-Key: INFERENCE_API_KEY is a setting of the gateway; ${USE}`,
    ],
    [
      upstream({ ...elsewhere, api_key_env: "MODEL_KEY" }),
      `inference.upstreams[0].api_key_env: documents may not name MODEL_KEY; ${USE}`,
    ],
    [
      upstream({ base_url_env: "INFERENCE_B_BASE_URL", api_key_env: "INFERENCE_API_KEY" }),
      `inference.upstreams[0].api_key_env: INFERENCE_API_KEY is a setting of the gateway; ${USE}`,
    ],
    [
      upstream({ base_url_env: "HOME" }),
      `inference.upstreams[0].base_url_env: documents may not name HOME; ${USE}`,
    ],
  ])("are refused by the setting that names them: %j", (document, problem) => {
    const { problems } = resolve(document);
    expect(problems).toContain(problem);
    expect(problems.join()).not.toMatch(/secret-|\/root/);
  });

  it("may be those with the prefix, in tools and upstreams", () => {
    const { upstreams, tools, problems } = resolve({
      ...tool("TOOL_KEY"),
      ...upstream({ ...elsewhere, api_key_env: "TOOL_KEY" }),
    });
    expect(problems).toEqual([]);
    expect([upstreams[0]?.apiKey, tools[0]?.headers]).toEqual(["tool-key", { "X-Key": "tool-key" }]);
    const own = { TOOL_ENV_PREFIX: "SHOP_", SHOP_KEY: "shop-key" };
    expect(resolve(tool("SHOP_KEY"), own)).toMatchObject({
      problems: [],
      tools: [{ hosts: ["evil.example"] }],
    });
    expect(resolve(tool("TOOL_KEY"), own).problems).toHaveLength(2);
  });

  it("send the key of a model server to the address beside it alone", () => {
    expect(resolve({}).upstreams).toMatchObject([{ apiKey: "secret-inference-key" }]);
    expect(resolve(upstream(elsewhere)).upstreams).toMatchObject([{ apiKey: undefined }]);
    const second = {
      ...ENV,
      INFERENCE_B_BASE_URL: "https://b.example/v1",
      INFERENCE_B_API_KEY: "key-of-b",
    };
    const named = {
      base_url_env: "INFERENCE_B_BASE_URL",
      headers_env: { "api-key": "INFERENCE_B_API_KEY" },
    };
    expect(resolve(upstream(named), second)).toMatchObject({
      problems: [],
      upstreams: [
        { baseUrl: "https://b.example/v1", apiKey: "key-of-b", headers: { "api-key": "key-of-b" } },
      ],
    });
  });
});
