import { execFileSync } from "node:child_process";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { mcpHosts } from "../../src/console/pages/tools/mcp-hosts.ts";
import { modelsOf } from "../../src/console/pages/tools/models.ts";
import { schemaRows } from "../../src/console/pages/tools/schema-rows.ts";
import { snippetsOf } from "../../src/console/pages/tools/snippets.ts";

const BASE = "https://gate.example";
const params = JSON.parse(
  `{"text":"it's \\"q\\" $HOME \`x\` \\\\ ünï\\nline","n":[1,null,true],"o":{},"__proto__":{"a":1}}`,
);

function snippet(id: string, call = { tool: "it's", params }): string {
  return snippetsOf(BASE, call).find((one) => one.id === id)?.text ?? "";
}

describe("snippets of a tool", () => {
  it("offers the OpenAI SDK only for the tools that its API offers", () => {
    const idsOf = (tool: string) => snippetsOf(BASE, { tool, params: {} }).map(({ id }) => id);
    expect(idsOf("echo")).toEqual(["curl", "typescript", "mcp", "python", "go"]);
    expect(idsOf("inference_embed")).toContain("openai");
    expect(snippet("openai", { tool: "inference_chat", params: {} })).toContain(
      "chat.completions.create({})",
    );
  });

  it("puts the model behind Claude Code in three lines", () => {
    const lines = snippet("claude-code", { tool: "inference_chat", params: { model: "it's" } }).split("\n");
    expect(lines).toEqual([
      `export ANTHROPIC_BASE_URL=${BASE}/anthropic`,
      'export ANTHROPIC_API_KEY="$TOOLGATE_API_KEY"',
      "claude --model 'it'\\''s'",
    ]);
  });

  it("puts the model behind Codex in three lines", () => {
    const lines = snippet("codex", { tool: "inference_chat", params: { model: "it's" } }).split("\n");
    const provider = `name = "Toolgate", base_url = "${BASE}/openai/v1", env_key = "TOOLGATE_API_KEY"`;
    expect(lines).toEqual([
      "codex --model 'it'\\''s' \\",
      "  --config model_provider=toolgate \\",
      `  --config 'model_providers.toolgate={ ${provider} }'`,
    ]);
  });

  it("reads the key from the environment in every snippet", () => {
    for (const { id, text } of snippetsOf(BASE, { tool: "inference_chat", params }))
      expect(text, id).toContain("TOOLGATE_API_KEY");
  });

  it("passes the same parameters in JavaScript, including __proto__", () => {
    const given = /arguments: ([\s\S]*) \};\n/.exec(snippet("mcp"))?.[1];
    expect(JSON.stringify(runInNewContext(`(${given})`))).toBe(JSON.stringify(params));
  });

  it("passes the same call in Python", ({ skip }) => {
    const call = /^(call = [\s\S]*?)\nrequest/m.exec(snippet("python"))?.[1] ?? "";
    const program = `import json\n${call}\nprint(json.dumps(call))`;
    let printed = "";
    try {
      printed = execFileSync("python3", ["-c", program], { encoding: "utf8" });
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") skip("no python3");
      throw error;
    }
    expect(JSON.parse(printed)).toEqual({ tool: "it's", params });
  });

  it("passes the same call in Go, quoted where a raw string is impossible", () => {
    const body = (text: string) => /call := (.*)\n/.exec(text)?.[1] ?? "";
    // The escapes of JSON are those of Go.
    expect(JSON.parse(JSON.parse(body(snippet("go"))))).toEqual({ tool: "it's", params });
    const plain = body(snippet("go", { tool: "echo", params: { message: "it's" } }));
    expect(plain).toBe('`{"tool":"echo","params":{"message":"it\'s"}}`');
  });
});

describe("MCP hosts", () => {
  it("opens Cursor and VS Code with the server's address and no key", () => {
    const linkOf = (id: string) => new URL(mcpHosts(BASE).find((host) => host.id === id)?.link ?? "");
    const cursor = JSON.parse(atob(linkOf("cursor").searchParams.get("config") ?? ""));
    expect(cursor).toEqual({
      url: `${BASE}/mcp`,
      headers: { Authorization: "Bearer ${env:TOOLGATE_API_KEY}" },
    });
    const vscode = JSON.parse(decodeURIComponent(linkOf("vscode").search.slice(1)));
    expect(vscode).toMatchObject({ name: "toolgate", type: "http", url: `${BASE}/mcp` });
    expect(vscode.headers.Authorization).toBe(`Bearer \${input:${vscode.inputs[0].id}}`);
  });
});

describe("modelsOf", () => {
  it("returns each model with the terms that the catalogue states", () => {
    const schema = {
      properties: {
        model: {
          enum: ["m", "m-2", "m-3"],
          description: "The model.\nm-2: 8 tokens\nm: 4 tokens and 1 more",
        },
      },
    };
    expect(modelsOf(schema)).toEqual([
      { id: "m", terms: "4 tokens and 1 more" },
      { id: "m-2", terms: "8 tokens" },
      { id: "m-3", terms: "" },
    ]);
    expect(modelsOf({ properties: { model: { type: "string" } } })).toEqual([]);
  });
});

describe("schemaRows", () => {
  it("lists nested members with their types, limits and descriptions", () => {
    const role = { enum: ["user", "system"], type: "string" };
    const schema = {
      required: ["messages"],
      properties: {
        messages: {
          type: "array",
          minItems: 1,
          items: { type: "object", required: ["role"], properties: { role } },
        },
        size: {
          anyOf: [{ type: "integer" }, { type: "null" }],
          maximum: Number.MAX_SAFE_INTEGER,
          minimum: 1,
        },
        text: { type: "string", maxLength: 9, default: "a", description: "First line\nsecond" },
      },
    };
    expect(schemaRows(schema).map((row) => Object.values(row))).toEqual([
      ["messages", "array of object", true, "", "at least 1 items"],
      ["messages[].role", "string", true, "", "user, system"],
      ["size", "integer or null", false, "", "at least 1"],
      ["text", "string", false, "First line", "at most 9 characters; default a"],
    ]);
  });

  it("ends at five levels", () => {
    let schema: object = { properties: { leaf: {} } };
    for (let level = 0; level < 9; level++) schema = { properties: { next: schema } };
    expect(schemaRows(JSON.parse(JSON.stringify(schema)))).toHaveLength(5);
  });
});
