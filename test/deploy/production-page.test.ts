import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { settings } from "../../src/config/settings.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { ROOT } from "../tooling/command.ts";

const PAGE = readFileSync(path.join(ROOT, "docs/tutorials/production.md"), "utf8");
const manifest = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = manifest.parse(JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")));

it("names npm scripts that exist", () => {
  const named = [...PAGE.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
});

it("names settings that exist", () => {
  const others = ["ON_ERROR_STOP", "HTTP_BIND", "GRPC_BIND"];
  const named = [...PAGE.matchAll(/\b[A-Z]+_[A-Z_]+\b/g)]
    .map(([name]) => name.replace(/_FILE$/, ""))
    .filter((name) => !others.includes(name));
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !(name in settings))).toEqual([]);
});

it("names commands and options that toolgate has", async () => {
  const named = [...PAGE.matchAll(/npm run toolgate -- ([a-z ]+)((?:--[a-z-]+)?)/g)];
  const spans = [...PAGE.matchAll(/`(migrate|doctor|serve)( --[a-z-]+)?[^`]*`/g)];
  expect(named.length + spans.length).toBeGreaterThan(4);
  for (const [, command = "", option = ""] of [...named, ...spans]) {
    const { code, stdout } = await runToolgateHere({}, [...command.trim().split(" "), "--help"]);
    expect({ code, stdout }, command).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Usage: toolgate ${command.trim()}`),
    });
    expect(stdout, command).toContain(option.trim());
  }
});
