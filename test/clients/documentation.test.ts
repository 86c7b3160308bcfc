import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { doorsNotTaken, everyPair, exampleFiles, quotedFiles, tableOfClients } from "./page.ts";

describe("docs/guides/clients.md", () => {
  it("quotes every example as it is", () => {
    const quoted = quotedFiles();
    for (const [file, text] of exampleFiles()) expect(quoted.get(file), file).toBe(text);
    expect([...quoted.keys()].sort()).toEqual([...exampleFiles().keys()].sort());
  });

  it("gives hosts the same file of servers as the README", () => {
    const [, json = ""] =
      /```json\n(\{ "mcpServers"[\s\S]*?)```/.exec(readFileSync(path.join(ROOT, "README.md"), "utf8")) ?? [];
    expect(JSON.parse(json)).toEqual(JSON.parse(exampleFiles().get("mcp.json") ?? ""));
  });

  it("says for each client, door and way of paying which test proves it, or why there is none", () => {
    const cells = tableOfClients().flatMap(({ cells }) => cells);
    const without = cells.filter((cell) => !cell.startsWith("`"));
    for (const cell of without) expect(cell).toMatch(/^no: \S.{15}/);
    const rows = tableOfClients().map(({ client, door }) => `${client} at ${door}`);
    const others = doorsNotTaken().flatMap(({ client, doors }) =>
      doors.map((door) => `${client} at ${door}`),
    );
    expect([...rows, ...others].sort()).toEqual(everyPair().sort());
    for (const { why } of doorsNotTaken()) expect(why).toMatch(/^\S.{15}/);
  });
});
