import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { HOSTED } from "../inference/servers/hosted.ts";
import { SELF_HOSTED } from "../inference/servers/self-hosted.ts";
import { ROOT } from "../tooling/command.ts";
import { list, table, withPart } from "./markdown.ts";

/** Software of others, what it does with the gateway in `npm test`, and the file that says so. */
interface Judge {
  readonly packages: readonly string[];
  readonly does: string;
  readonly file: string;
}

const CLIENTS: readonly Judge[] = [
  {
    packages: ["@modelcontextprotocol/sdk", "@modelcontextprotocol/client"],
    does: "MCP: lists, pays in every way, reads failures",
    file: "test/interop/mcp-clients.test.ts",
  },
  {
    packages: ["@modelcontextprotocol/inspector"],
    does: "MCP: lists and calls tools from the command line",
    file: "test/interop/mcp-clients.test.ts",
  },
  {
    packages: ["@modelcontextprotocol/conformance", "conformance-0.1"],
    does: "MCP: the official suites",
    file: "test/conformance/suites.ts",
  },
  {
    packages: ["@ai-sdk/mcp"],
    does: "MCP: pays in every way",
    file: "docs/examples/node/ai-sdk.ts",
  },
  {
    packages: ["openai"],
    does: "chat, tools and embeddings, whole and streamed, also in a browser from another origin",
    file: "test/transport/openai/openai.test.ts",
  },
  {
    packages: ["@ai-sdk/openai-compatible", "@langchain/openai"],
    does: "chat, tool calls, embeddings",
    file: "test/transport/openai/client-libraries.ts",
  },
  {
    packages: ["@anthropic-ai/sdk"],
    does: "messages, tools, whole and streamed",
    file: "test/transport/anthropic/messages.test.ts",
  },
  {
    packages: ["@ai-sdk/anthropic", "@langchain/anthropic"],
    does: "messages, tool calls",
    file: "test/transport/anthropic/client-libraries.test.ts",
  },
  {
    packages: ["@x402/fetch", "@x402/svm"],
    does: "x402: pays over HTTP and MCP, also in a browser from another origin",
    file: "test/browser/official-clients.ts",
  },
  {
    packages: ["@connectrpc/connect-web", "@connectrpc/connect-node", "@grpc/grpc-js"],
    does: "Connect, gRPC-Web, gRPC: pay in every way",
    file: "test/interop/transports.ts",
  },
  {
    packages: ["standardwebhooks"],
    does: "verifies webhooks",
    file: "test/support/webhook-receiver.ts",
  },
];

const SERVERS: readonly Judge[] = [
  {
    packages: ["@modelcontextprotocol/server-everything"],
    does: "MCP: each tool that it lists for a plain client is sold and bought",
    file: "test/tools/custom/mcp/everything.test.ts",
  },
  {
    packages: ["@grpc/reflection"],
    does: "gRPC: its methods are found by reflection, sold and bought",
    file: "test/tools/custom/grpc/reflection.test.ts",
  },
];

/** Fixtures of a server that has another one, or of none. */
const MORE = new Set(["TGI text", "one that forges"]);

const versions = z.record(z.string(), z.string());
const manifest = z
  .object({ dependencies: versions, optionalDependencies: versions, devDependencies: versions })
  .parse(JSON.parse(read("package.json")));
const VERSIONS = { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };

/** Fills docs/reference/compatibility.md. */
export function compatibilityPage(page: string): string {
  const head = ["package", "what it does", "where"];
  const models = [...SELF_HOSTED, ...HOSTED].map(({ server }) => server).filter((name) => !MORE.has(name));
  const parts = { clients: table(head, CLIENTS.map(rowOf)), servers: table(head, SERVERS.map(rowOf)) };
  const filled = Object.entries(parts).reduce((text, [name, part]) => withPart(text, name, part), page);
  return withPart(filled, "models", list([models.join(", ")]));
}

function rowOf({ packages, does, file }: Judge): string[] {
  const text = read(file);
  const named = packages.map((name) => {
    const version = VERSIONS[name];
    if (version === undefined || !text.includes(`"${name}`)) throw new Error(`${file} does not use ${name}`);
    return version.startsWith("npm:") ? `\`${version.slice("npm:".length)}\`` : `\`${name}\` ${version}`;
  });
  return [named.join(", "), does, `\`${file}\``];
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}
