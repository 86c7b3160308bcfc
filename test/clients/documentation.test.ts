import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import * as client from "../../src/client/index.ts";
import * as node from "../../src/client/node/index.ts";
import * as signIn from "../../src/client/node/sign-in/index.ts";
import { ROOT } from "../tooling/command.ts";
import { exampleFiles, linkedFiles, tableOfClients } from "./page.ts";

describe("the documentation", () => {
  it("imports from the client package only what it exports", () => {
    const exported = new Map([
      ["toolgate-client", Object.keys(client)],
      ["toolgate-client/node", Object.keys(node)],
      ["toolgate-client/sign-in", Object.keys(signIn)],
    ]);
    const pages = globSync(["docs/**/*.md", "README.md", "src/client/README.md"], { cwd: ROOT });
    const imports = pages.flatMap((page) => [
      ...readFileSync(path.join(ROOT, page), "utf8").matchAll(/import \{([^}]*)\} from "(toolgate[^"]*)"/g),
    ]);
    expect(imports.length).toBeGreaterThan(3);
    for (const [text, names = "", from = ""] of imports)
      expect(exported.get(from), text).toEqual(expect.arrayContaining(valuesIn(names)));
  });
});

describe("docs/guides/clients.md", () => {
  it("links to every example of docs/examples", () => {
    expect(linkedFiles().sort()).toEqual([...exampleFiles().keys()].sort());
  });

  it("shows MCP hosts the same file of servers as the README", () => {
    const [, json = ""] =
      /```json\n(\{ "mcpServers"[\s\S]*?)```/.exec(readFileSync(path.join(ROOT, "README.md"), "utf8")) ?? [];
    expect(JSON.parse(json)).toEqual(JSON.parse(exampleFiles().get("mcp.json") ?? ""));
  });

  it("names a test or a reason for each client and payment method", () => {
    const cells = tableOfClients().flatMap(({ cells }) => cells);
    const without = cells.filter((cell) => !cell.startsWith("`"));
    for (const cell of without) expect(cell).toMatch(/^no: \S.{15}/);
  });
});

/** The names of an import that exist at run time. */
function valuesIn(names: string): string[] {
  const all = names.split(",").map((name) => name.trim());
  return all.filter((name) => !name.startsWith("type "));
}
