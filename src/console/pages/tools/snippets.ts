import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { curlSnippet, literal, shellQuote, typescriptSnippet } from "../playground/snippets.ts";
import type { ToolCall } from "../playground/tool-call.ts";

/** Snippets read the key from the environment: they are often shared, and a key must not be. */
const KEY = 'process.env["TOOLGATE_API_KEY"]';

interface Snippet {
  readonly id: string;
  /** Of its tab. */
  readonly label: string;
  /** Packages to install first. */
  readonly install?: string;
  readonly text: string;
}

/** Tools that the OpenAI API offers as well, and the method that calls them. */
const OPENAI_METHODS: Readonly<Record<string, string>> = {
  inference_chat: "chat.completions",
  inference_embed: "embeddings",
};

export function snippetsOf(baseUrl: string, call: ToolCall): readonly Snippet[] {
  const openai = OPENAI_METHODS[call.tool];
  return [
    { id: "curl", label: "curl", text: curlSnippet(baseUrl, call) },
    {
      id: "typescript",
      label: "TypeScript",
      install: "npm install toolgate-client",
      text: typescriptSnippet(baseUrl, call),
    },
    ...(openai === undefined
      ? []
      : [
          {
            id: "openai",
            label: "OpenAI SDK",
            install: "npm install openai",
            text: openaiSnippet(baseUrl, openai, call.params),
          },
        ]),
    ...(call.tool === "inference_chat"
      ? [
          { id: "claude-code", label: "Claude Code", text: claudeCodeSnippet(baseUrl, call.params) },
          { id: "codex", label: "Codex", text: codexSnippet(baseUrl, call.params) },
        ]
      : []),
    {
      id: "mcp",
      label: "MCP SDK",
      install: "npm install @modelcontextprotocol/client",
      text: mcpSdkSnippet(baseUrl, call),
    },
    { id: "python", label: "Python", text: pythonSnippet(baseUrl, call) },
    { id: "go", label: "Go", text: goSnippet(baseUrl, call) },
  ];
}

function openaiSnippet(baseUrl: string, method: string, params: JsonObject): string {
  return [
    'import process from "node:process";',
    'import OpenAI from "openai";',
    "",
    `const openai = new OpenAI({ baseURL: ${JSON.stringify(`${baseUrl}/openai/v1`)}, apiKey: ${KEY} });`,
    `const answer = await openai.${method}.create(${literal(params)});`,
    "console.log(answer);",
  ].join("\n");
}

/** What a shell takes: the key comes from the environment here, too. */
function claudeCodeSnippet(baseUrl: string, params: JsonObject): string {
  return [
    `export ANTHROPIC_BASE_URL=${baseUrl}/anthropic`,
    'export ANTHROPIC_API_KEY="$TOOLGATE_API_KEY"',
    `claude --model ${quotedModel(params)}`,
  ].join("\n");
}

function codexSnippet(baseUrl: string, params: JsonObject): string {
  const provider = { name: "Toolgate", base_url: `${baseUrl}/openai/v1`, env_key: "TOOLGATE_API_KEY" };
  const members = Object.entries(provider).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [
    `codex --model ${quotedModel(params)} \\`,
    "  --config model_provider=toolgate \\",
    `  --config ${shellQuote(`model_providers.toolgate={ ${members.join(", ")} }`)}`,
  ].join("\n");
}

function quotedModel({ model }: JsonObject): string {
  return shellQuote(typeof model === "string" ? model : "MODEL");
}

function mcpSdkSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    'import process from "node:process";',
    'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";',
    "",
    `const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(`${baseUrl}/mcp`)}), {`,
    `  requestInit: { headers: { Authorization: \`Bearer \${${KEY}}\` } },`,
    "});",
    'const client = new Client({ name: "agent", version: "1.0.0" });',
    "await client.connect(transport);",
    `const call = { name: ${JSON.stringify(tool)}, arguments: ${literal(params)} };`,
    "const { content } = await client.callTool(call);",
    "console.log(content);",
    "await client.close();",
  ].join("\n");
}

function pythonSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    "import json, os, urllib.request",
    "",
    `call = ${pythonLiteral({ tool, params }, "")}`,
    "request = urllib.request.Request(",
    `    ${JSON.stringify(`${baseUrl}/v1/mcp/tools/call`)},`,
    "    json.dumps(call).encode(),",
    "    {",
    '        "Authorization": "Bearer " + os.environ["TOOLGATE_API_KEY"],',
    '        "Content-Type": "application/json",',
    "    },",
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(json.load(response))",
  ].join("\n");
}

function goSnippet(baseUrl: string, call: ToolCall): string {
  const json = JSON.stringify(call);
  return [
    "package main",
    "",
    'import (\n\t"io"\n\t"log"\n\t"net/http"\n\t"os"\n\t"strings"\n)',
    "",
    "func main() {",
    // A raw string cannot contain a backquote.
    `\tcall := ${json.includes("`") ? JSON.stringify(json) : `\`${json}\``}`,
    `\turl := ${JSON.stringify(`${baseUrl}/v1/mcp/tools/call`)}`,
    '\trequest, err := http.NewRequest("POST", url, strings.NewReader(call))',
    "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}",
    '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("TOOLGATE_API_KEY"))',
    '\trequest.Header.Set("Content-Type", "application/json")',
    "\tresponse, err := http.DefaultClient.Do(request)",
    "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}",
    "\tdefer response.Body.Close()",
    "\tio.Copy(os.Stdout, response.Body)",
    "}",
  ].join("\n");
}

/** A JSON string is a valid Python string; the other literals have other names. */
function pythonLiteral(value: JsonValue, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const [open, close, parts] = Array.isArray(value)
    ? ["[", "]", value.map((one) => pythonLiteral(one, inner))]
    : [
        "{",
        "}",
        Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonLiteral(one, inner)}`),
      ];
  if (parts.length === 0) return open + close;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${indent}${close}`;
}
