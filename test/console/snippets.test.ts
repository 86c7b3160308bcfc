import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { curlSnippet, mcpSnippet, typescriptSnippet } from "../../src/console/pages/playground/snippets.ts";

const BASE = "https://gate.example";
const params = JSON.parse(
  `{"text":"it's \\"quoted\\" $HOME \`x\` \\\\ ünï\\nline","n":[1,null],"__proto__":{"a":1}}`,
);
const CALL = { tool: "it's", params };

describe("curlSnippet", () => {
  it("quotes every character and reads the key from the environment", () => {
    // The shell runs the snippet; a function replaces curl and prints its arguments.
    const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${curlSnippet(BASE, CALL)}`;
    const env = { TOOLGATE_API_KEY: "sk-agent-x y" };
    const words = execFileSync("sh", ["-c", script], { env, encoding: "utf8" }).split("\0").slice(0, -1);
    expect(words.slice(0, 3)).toEqual(["-sS", "-i", `${BASE}/v1/mcp/tools/call`]);
    expect(words).toContain("Authorization: Bearer sk-agent-x y");
    expect(JSON.parse(words.at(-1) ?? "")).toEqual({ tool: "it's", params });
  });
});

describe("mcpSnippet", () => {
  it("contains the gateway URL and the key variable, but no key", () => {
    expect(JSON.parse(mcpSnippet(BASE))).toEqual({
      mcpServers: {
        toolgate: {
          type: "http",
          url: `${BASE}/mcp`,
          headers: { Authorization: "Bearer ${TOOLGATE_API_KEY}" },
        },
      },
    });
  });
});

describe("typescriptSnippet", () => {
  it("passes the same parameters, including __proto__", () => {
    const call = /callTool\(([\s\S]*)\);\n/.exec(typescriptSnippet(BASE, CALL))?.[1];
    const [tool, given] = runInNewContext(`[${call}]`);
    expect(tool).toBe("it's");
    expect(JSON.stringify(given)).toBe(JSON.stringify(params));
  });

  it("reads the key from the environment", () => {
    expect(typescriptSnippet(BASE, CALL)).toContain('apiKey: process.env["TOOLGATE_API_KEY"]');
  });
});
