import { expect, it } from "vitest";
import { layerProblems, LAYERS, layersAreKept } from "./layers.ts";

const problemsOf = (files: Record<string, string>) => layerProblems(new Map(Object.entries(files)));

it("the sources keep to the table of layers", async () => {
  expect(await layersAreKept()).toEqual({ code: 0, output: "" });
});

it("the table of layers has no circle", () => {
  const reached = (name: string, path: readonly string[] = []): string[] =>
    (LAYERS[name]?.layers ?? []).flatMap((next) =>
      path.includes(next) ? [[...path, next].join(" -> ")] : reached(next, [...path, next]),
    );
  expect(Object.keys(LAYERS).flatMap((name) => reached(name, [name]))).toEqual([]);
});

it.each([
  ["an upper layer", "domain/core/a.ts", 'import { b } from "../../app/calls/b.ts";'],
  ["a neighbour", "tools/a.ts", 'import { b } from "../postgres/b.ts";'],
  ["the composition", "transport/a.ts", 'import { b } from "../gateway/b.ts";'],
  ["the composition by a type", "app/calls/a.ts", 'import type { B } from "../../config/b.ts";'],
  ["another layer by a re-export", "domain/core/a.ts", 'export * from "../../app/calls/b.ts";'],
  ["another layer by import()", "domain/core/a.ts", 'const b = await import("../../app/calls/b.ts");'],
  ["another layer over several lines", "app/calls/a.ts", 'import {\n  a,\n  b,\n} from "../../tools/b.ts";'],
  ["another layer for its effect", "app/calls/a.ts", 'import "../../tools/b.ts";'],
  ["a package of another layer", "tools/a.ts", 'import pg from "pg";'],
  ["a package that is not listed", "domain/core/a.ts", 'import { z } from "zod";'],
  ["Node in a browser program", "console/a.ts", 'import { b } from "node:fs";'],
  ["Node in the client for browsers", "client/a.ts", 'import { b } from "node:fs";'],
  ["messages in the domain", "domain/core/a.ts", 'import { B } from "#gen/toolgate/v1/tool_pb.ts";'],
  [
    "messages of the product in the generator",
    "httpjson/a.ts",
    'import { B } from "#gen/toolgate/v1/tool_pb.ts";',
  ],
  [
    "the generator's runtime in the console",
    "console/a.ts",
    'import { b } from "#httpjson/runtime/index.ts";',
  ],
  ["the gateway in the client for Node", "client/node/a.ts", 'import { b } from "../../domain/core/b.ts";'],
  ["a test", "cli/a.ts", 'import { b } from "../../test/support/b.ts";'],
  ["development code in the gateway", "gateway/a.ts", 'const b = await import("../dev/b.ts");'],
  ["development code in a command, at its start", "cli/a.ts", 'import { b } from "../dev/b.ts";'],
])("refuses %s", (_what, file, source) => {
  expect(problemsOf({ [file]: source })).toEqual([expect.stringContaining(`src/${file}: imports `)]);
});

it.each([
  ["a lower layer", "transport/http/a.ts", 'import { b } from "../../domain/core/b.ts";'],
  ["its own files", "domain/calls/a.ts", 'import { b } from "../core/b.ts";'],
  ["the error table in the domain", "domain/core/a.ts", 'import { ERRORS } from "#gen/errors.ts";'],
  ["its own packages", "postgres/a.ts", 'import pg from "pg";'],
  ["development code in a command by import()", "cli/a.ts", 'const b = await import("../dev/b.ts");'],
  ["a type of development code in a command", "cli/a.ts", 'import type { B } from "../dev/b.ts";'],
])("allows %s", (_what, file, source) => {
  expect(problemsOf({ [file]: source })).toEqual([]);
});

it.each([
  ["values", 'import { a } from "../calls/a.ts";'],
  ["types", 'import type { A } from "../calls/a.ts";'],
  ["import()", 'const a = await import("../calls/a.ts");'],
])("refuses folders that import each other by %s", (_what, source) => {
  const one = { "app/calls/a.ts": 'import { b } from "../payments/b.ts";' };
  expect(problemsOf({ ...one, "app/payments/b.ts": source })).toEqual([
    expect.stringContaining("src/app/calls, src/app/payments: import each other"),
  ]);
});

it.each([
  ["two files", "app/calls/a.ts", "./b.ts", "app/calls/b.ts", "./a.ts"],
  ["a file and a folder beside it", "app/a.ts", "./calls/b.ts", "app/calls/b.ts", "../a.ts"],
  ["files at the top", "a.ts", "./b.ts", "b.ts", "./a.ts"],
])("refuses a circle of %s", (_what, one, toOther, other, toOne) => {
  const sources = { [one]: `import { b } from "${toOther}";`, [other]: `import { a } from "${toOne}";` };
  expect(problemsOf(sources)).toContainEqual(expect.stringContaining("import each other"));
});

it("allows a file to import from a folder beside it", () => {
  const sources = { "app/a.ts": 'import { b } from "./calls/b.ts";', "app/calls/b.ts": 'import "./c.ts";' };
  expect(problemsOf(sources)).toEqual([]);
});

it("refuses a circle of three folders", () => {
  const arrow = (to: string) => `import { x } from "../${to}/x.ts";`;
  expect(
    problemsOf({
      "app/calls/x.ts": arrow("payments"),
      "app/payments/x.ts": arrow("deposits"),
      "app/deposits/x.ts": arrow("calls"),
    }),
  ).toEqual([
    expect.stringContaining("src/app/calls, src/app/deposits, src/app/payments: import each other"),
  ]);
});
