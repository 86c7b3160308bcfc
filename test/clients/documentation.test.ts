import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import {
  everyPair,
  exampleFiles,
  linkedFiles,
  quotedFiles,
  tableOfClients,
  unusedProtocols,
} from "./page.ts";

describe("docs/guides/clients.md", () => {
  it("links to every example of docs/examples", () => {
    expect(linkedFiles().sort()).toEqual([...exampleFiles().keys()].sort());
  });

  it("quotes examples without a change", () => {
    const quoted = quotedFiles();
    expect(quoted.size).toBeGreaterThan(0);
    for (const [file, text] of quoted) expect(exampleFiles().get(file), file).toBe(text);
  });

  it("shows MCP hosts the same file of servers as the README", () => {
    const [, json = ""] =
      /```json\n(\{ "mcpServers"[\s\S]*?)```/.exec(readFileSync(path.join(ROOT, "README.md"), "utf8")) ?? [];
    expect(JSON.parse(json)).toEqual(JSON.parse(exampleFiles().get("mcp.json") ?? ""));
  });

  it("names a test or a reason for each client, protocol and payment method", () => {
    const cells = tableOfClients().flatMap(({ cells }) => cells);
    const without = cells.filter((cell) => !cell.startsWith("`"));
    for (const cell of without) expect(cell).toMatch(/^no: \S.{15}/);
    const rows = tableOfClients().map(({ client, protocol }) => `${client} over ${protocol}`);
    const others = unusedProtocols().flatMap(({ client, protocols }) =>
      protocols.map((protocol) => `${client} over ${protocol}`),
    );
    expect([...rows, ...others].sort()).toEqual(everyPair().sort());
    for (const { reason } of unusedProtocols()) expect(reason).toMatch(/^\S.{12}/);
  });
});
