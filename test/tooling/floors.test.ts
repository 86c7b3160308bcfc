import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { command, ROOT } from "./command.ts";

const LAYER_3 = ["tools", "payments", "postgres", "solana", "sandbox", "inference", "metrics"] as const;
const DEVELOPMENT = ["localchain", "dev"] as const;
const COMPOSITION = [
  "main.ts",
  "config.ts",
  "gateway.ts",
  "start-checks.ts",
  "config/config.ts",
  "gateway/servers.ts",
  "cli/output.ts",
] as const;

/** For each layer, the folders of src/ that it must not import. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  httpjson: ["domain", "app", "outbound", ...LAYER_3, "transport", "console", ...DEVELOPMENT],
  domain: ["httpjson", "app", "outbound", ...LAYER_3, "transport", "console", ...DEVELOPMENT],
  app: ["outbound", ...LAYER_3, "transport", "console", ...DEVELOPMENT],
  ...Object.fromEntries(
    LAYER_3.map((folder) => [
      folder,
      [...LAYER_3.filter((other) => other !== folder), "transport", "console", ...DEVELOPMENT],
    ]),
  ),
  "tools/custom": [...LAYER_3.filter((other) => other !== "tools"), "transport", "console", ...DEVELOPMENT],
  outbound: [...LAYER_3, "transport", "console", ...DEVELOPMENT],
  transport: [...LAYER_3, "console", ...DEVELOPMENT],
  console: ["httpjson", "domain", "app", ...LAYER_3, "transport", ...DEVELOPMENT],
  localchain: ["app", ...LAYER_3, "transport", "console", "dev"],
  client: ["httpjson", "domain", "app", "outbound", ...LAYER_3, "transport", "console", ...DEVELOPMENT],
};

/** Imports of packages and generated code that a layer must not have. */
const FORBIDDEN_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  httpjson: [
    "pg",
    "../../gen/toolgate/v1/tool_pb.ts",
    "pino",
    "@connectrpc/connect",
    "#gen/toolgate/v1/tool_pb.ts",
  ],
  domain: [
    "node:fs",
    "../../gen/toolgate/v1/tool_pb.ts",
    "node:net",
    "pg",
    "zod",
    "@bufbuild/protobuf",
    "#gen/toolgate/v1/tool_pb.ts",
    "#httpjson/read.ts",
  ],
  app: [
    "node:fs",
    "pg",
    "../../gen/toolgate/v1/tool_pb.ts",
    "@mikro-orm/core",
    "@solana/web3.js",
    "@grpc/grpc-js",
    "#gen/toolgate/v1/tool_pb.ts",
  ],
  tools: ["pg", "@grpc/grpc-js", "@connectrpc/connect"],
  payments: ["pg", "@mikro-orm/core", "@grpc/grpc-js"],
  postgres: ["@solana/web3.js", "@grpc/grpc-js", "@connectrpc/connect"],
  solana: ["pg", "@mikro-orm/core", "@grpc/grpc-js"],
  sandbox: ["pg", "@solana/web3.js", "@grpc/grpc-js"],
  inference: ["pg", "@solana/web3.js", "@grpc/grpc-js"],
  "tools/custom": ["pg", "@solana/web3.js", "@connectrpc/connect"],
  outbound: ["pg", "@solana/web3.js", "@grpc/grpc-js"],
  metrics: ["pg", "@solana/web3.js", "@grpc/grpc-js"],
  transport: ["pg", "@mikro-orm/core"],
  console: ["node:fs", "pg", "@connectrpc/connect-node", "#httpjson/read.ts"],
  client: ["node:fs", "#httpjson/read.ts"],
};

/** Imports that go down, or to a neighbour: these must pass, or the rules would prove nothing by refusing. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  httpjson: [
    "./read.ts",
    "../plugin/options.ts",
    "@bufbuild/protobuf",
    "@bufbuild/protoplugin/ecmascript",
    "node:path",
  ],
  domain: [
    "./money.ts",
    "../core/money.ts",
    "../payments/memo.ts",
    "node:crypto",
    "@scure/base",
    "canonicalize",
  ],
  app: ["./call-tool.ts", "../payments/relay.ts", "../../domain/core/money.ts", "node:crypto"],
  tools: ["../domain/core/money.ts", "../app/calls/ledger.ts", "zod"],
  payments: ["../domain/payments/memo.ts", "../app/calls/ledger.ts"],
  postgres: ["../domain/core/money.ts", "../app/calls/ledger.ts", "pg", "@mikro-orm/core"],
  solana: ["../payments/chain.ts", "../../app/calls/ledger.ts", "@solana/web3.js"],
  sandbox: ["../domain/core/json.ts", "../app/calls/ledger.ts", "node:child_process"],
  inference: ["../domain/core/money.ts", "../app/calls/ledger.ts", "openai"],
  metrics: ["../app/operations/metrics.ts", "prom-client", "node:http"],
  transport: [
    "../domain/core/errors.ts",
    "../app/calls/call-tool.ts",
    "../httpjson/runtime/index.ts",
    "@grpc/grpc-js",
  ],
  console: [
    "./view.ts",
    "../../gen/toolgate/v1/tool_pb.ts",
    "#gen/toolgate/v1/tool_pb.ts",
    "@connectrpc/connect-web",
  ],
  localchain: ["./chain.ts", "litesvm", "@solana/web3.js"],
  dev: ["../localchain/main.ts", "../config.ts", "../app/calls/ledger.ts"],
  client: ["./store.ts", "../../gen/toolgate/v1/tool_pb.ts", "@connectrpc/connect", "@solana/web3.js"],
};

interface Attempt {
  readonly layer: string;
  readonly specifier: string;
}

/** Layers whose files lie in folders by concept, one level deeper. */
const BY_CONCEPT = ["domain", "app", "postgres", "solana"];

const refusals: Attempt[] = [
  ...Object.entries(FORBIDDEN).flatMap(([layer, folders]) => {
    const src = BY_CONCEPT.includes(layer) ? "../.." : "..";
    return [
      ...folders.map((folder) => ({ layer, specifier: `${src}/${folder}/anything.ts` })),
      ...COMPOSITION.map((file) => ({ layer, specifier: `${src}/${file}` })),
      { layer, specifier: `${src}/../test/support/postgres.ts` },
    ];
  }),
  ...attempts(FORBIDDEN_PACKAGES),
];
const passes = attempts(ALLOWED);

function attempts(table: Readonly<Record<string, readonly string[]>>): Attempt[] {
  return Object.entries(table).flatMap(([layer, specifiers]) =>
    specifiers.map((specifier) => ({ layer, specifier })),
  );
}

/** Everything else that the linter must refuse, one small source each. */
const SOURCES: Record<string, { file: string; source: string; rule: string }> = {
  "an import two folders deep": {
    file: "src/domain/access/deep/deep.ts",
    source: 'import { a } from "../../../app/calls/ledger.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "a type import": {
    file: "src/domain/core/type.ts",
    source: 'import type { A } from "../../app/calls/ledger.ts";\nexport type B = A;\n',
    rule: "no-restricted-imports",
  },
  "a re-export": {
    file: "src/domain/core/re-export.ts",
    source: 'export * from "../../app/calls/ledger.ts";\n',
    rule: "no-restricted-imports",
  },
  "a dynamic import": {
    file: "src/domain/core/dynamic.ts",
    source: 'export const load = (): Promise<unknown> => import("../../app/calls/ledger.ts");\n',
    rule: "no-restricted-imports",
  },
  "an import() type": {
    file: "src/domain/core/import-type.ts",
    source: 'export type B = import("../../app/calls/ledger.ts").A;\n',
    rule: "consistent-type-imports",
  },
  "the local chain in a file of no floor": {
    file: "src/log.ts",
    source: 'import { a } from "./localchain/chain.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "the console in a file of no floor": {
    file: "src/system.ts",
    source: 'import { a } from "./console/view.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "a test in a command": {
    file: "src/cli/support.ts",
    source: 'import { a } from "../../test/support/postgres.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "a test in a file of no floor": {
    file: "src/wiring/support.ts",
    source: 'import { a } from "../../test/support/postgres.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "the gateway in the client's entry for Node": {
    file: "src/client/node/gateway.ts",
    source: 'import { a } from "../../domain/core/money.ts";\nexport const b = a;\n',
    rule: "no-restricted-imports",
  },
  "randomness in the domain": {
    file: "src/domain/random.ts",
    source: 'import { randomUUID } from "node:crypto";\nexport const id = randomUUID;\n',
    rule: "no-restricted-imports",
  },
  "the environment outside of the configuration": {
    file: "src/tools/environment.ts",
    source: 'export const url = process.env["URL"];\n',
    rule: "no-process-env",
  },
  "a circle of imports": {
    file: "src/app/circle-a.ts",
    source: 'import { b } from "./circle-b.ts";\nexport const a: () => unknown = () => b;\n',
    rule: "no-cycle",
  },
  "its other half": {
    file: "src/app/circle-b.ts",
    source: 'import { a } from "./circle-a.ts";\nexport const b: () => unknown = () => a;\n',
    rule: "no-cycle",
  },
  "a promise that is not awaited": {
    file: "src/app/floating.ts",
    source: "async function save(): Promise<void> {\n  await Promise.resolve();\n}\nsave();\n",
    rule: "no-floating-promises",
  },
  "a promise where a condition or callback is meant": {
    file: "src/app/misused.ts",
    source: "export const each = (): void => [1].forEach(async () => {\n  await Promise.resolve();\n});\n",
    rule: "no-misused-promises",
  },
  "an explicit any": {
    file: "src/app/any.ts",
    source: "export function read(body: any): unknown {\n  return body;\n}\n",
    rule: "no-explicit-any",
  },
  "a cast of wire data": {
    file: "src/app/cast.ts",
    source: "export const read = (body: unknown): string => body as string;\n",
    rule: "no-unsafe-type-assertion",
  },
  "wire data that becomes typed by an annotation": {
    file: "src/app/annotation.ts",
    source:
      "export const read = (text: string): void => {\n  const body: { a: string } = JSON.parse(text);\n  void body;\n};\n",
    rule: "no-unsafe-assignment",
  },
  "a non-null assertion": {
    file: "src/app/non-null.ts",
    source: "export const length = (text?: string): number => text!.length;\n",
    rule: "no-non-null-assertion",
  },
};

for (const layer of ["domain", "app"]) {
  for (const call of ["Date.now", "performance.now", "Math.random"]) {
    SOURCES[`${call} in ${layer}, past the ports`] = {
      file: `src/${layer}/${call}.ts`,
      source: `export const value = ${call}();\n`,
      rule: "no-restricted-properties",
    };
  }
}

let folder: string;
let refused: Map<string, string[]>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-floors-"));
  await copyFile(path.join(ROOT, ".oxlintrc.json"), path.join(folder, ".oxlintrc.json"));
  // The project's own compiler options, without the packages: what an import names is not needed to refuse it.
  const options = {
    extends: path.join(ROOT, "tsconfig.json"),
    compilerOptions: { types: [] },
    include: ["src"],
  };
  await write("tsconfig.json", JSON.stringify(options));
  for (const attempt of [...refusals, ...passes]) {
    await write(
      fileOf(attempt),
      `import { thing } from "${attempt.specifier}";\nexport const it = (): unknown => thing;\n`,
    );
  }
  for (const { file, source } of Object.values(SOURCES)) await write(file, source);
  const linted = await command("oxlint", ["--type-aware", "--format=json", folder], {
    cwd: folder,
    signal: AbortSignal.timeout(30_000),
  });
  refused = rulesByFile(linted.output);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the layer rules of the linter", () => {
  it.each(Object.keys(FORBIDDEN))(
    "refuse imports in %s of the layers above, beside and outside its task",
    (layer) => {
      const accepted = refusals.filter((attempt) => attempt.layer === layer && !isRefused(attempt));
      expect(accepted).toEqual([]);
    },
  );

  it.each(Object.keys(ALLOWED))("allow imports in %s of the layers below and of its own task", (layer) => {
    expect(passes.filter((attempt) => attempt.layer === layer && isRefused(attempt))).toEqual([]);
  });

  it("let main.ts and the commands reach development code by import() only", async () => {
    const commands = await readdir(path.join(ROOT, "src/cli"), { recursive: true });
    const files = ["main.ts", ...commands.map((file) => path.join("cli", file))].filter((file) =>
      file.endsWith(".ts"),
    );
    const eager = await Promise.all(
      files.map(async (file) =>
        loadsDevelopment(await readFile(path.join(ROOT, "src", file), "utf8")) ? [file] : [],
      ),
    );
    expect(eager.flat()).toEqual([]);
  });

  it.each([
    ['import { startDev } from "./dev/index.ts";', true],
    ['import {\n  startDev,\n  stopDev,\n} from "../dev/index.ts";', true],
    ['export * from "../localchain/index.ts";', true],
    ['import "../dev/index.ts";', true],
    ['import type { Dev } from "../dev/index.ts";', false],
    ['import { a } from "./a.ts";\nconst dev = await import("../dev/index.ts");', false],
  ])("detect %j as an import at start: %s", (source, eager) => {
    expect(loadsDevelopment(source)).toBe(eager);
  });
});

describe("the linter refuses", () => {
  it.each(Object.entries(SOURCES))("%s", (_what, { file, rule }) => {
    expect(refused.get(file) ?? []).toContain(rule);
  });
});

/** Whether a source imports src/dev or src/localchain as it is loaded; types are gone by then. */
function loadsDevelopment(source: string): boolean {
  return /^(?:import|export)\s+(?!type\b)(?:[^;"]*\sfrom\s+)?"(?:\.{1,2}\/)+(?:dev|localchain)\//m.test(
    source,
  );
}

function isRefused(attempt: Attempt): boolean {
  return refused.get(fileOf(attempt))?.includes("no-restricted-imports") ?? false;
}

/** One file for each attempt, named after what it imports. */
function fileOf({ layer, specifier }: Attempt): string {
  const folder = BY_CONCEPT.includes(layer) ? `${layer}/concept` : layer;
  return `src/${folder}/imports-${specifier.replaceAll(/[^a-z0-9]/gi, "-")}.ts`;
}

async function write(file: string, source: string): Promise<void> {
  const target = path.join(folder, file);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, source);
}

/** The names of the rules that refused each file, from oxlint's JSON output. */
function rulesByFile(output: string): Map<string, string[]> {
  const { diagnostics } = JSON.parse(output) as { diagnostics: { code?: string; filename: string }[] };
  const rules = new Map<string, string[]>();
  for (const { code = "", filename } of diagnostics) {
    const file = path.relative(folder, path.resolve(folder, filename)).replaceAll(path.sep, "/");
    rules.set(file, [...(rules.get(file) ?? []), code.replace(/^.*\((.*)\)$/, "$1")]);
  }
  return rules;
}
