import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT, type Finished } from "./command.ts";

const RUNTIME = ["log.ts", "loop-time.ts", "system.ts", "version.ts"];
const ADAPTER = { layers: ["app", "domain", "outbound", ...RUNTIME], gen: /^(buf|grpc)/ };
const OTHERS = { sql: "pg|@mikro-orm/.*", chain: "@solana/.*", rpc: "@grpc/.*|@connectrpc/.*" };
const none = (...names: string[]) => new RegExp(`^(?!(?:${names.join("|")})$)`);
const PARTS = [
  ...[...RUNTIME, "app", "config", "domain", "httpjson", "inference", "metrics", "outbound"],
  ...["payments", "postgres", "sandbox", "solana", "tools", "transport"],
];
const COMPOSED = [...PARTS, "gateway"];
const STARTED = [...COMPOSED, "gateway.ts", "start-checks.ts", "client"];

interface Layer {
  /** Folders and files of src/ that it may import besides itself. */
  readonly layers: readonly string[];
  /** Packages that it may import; all if unset. */
  readonly packages?: RegExp;
  /** Generated code that it may import; none if unset. */
  readonly gen?: RegExp;
}

/** Allowed imports of each layer; the longest matching folder decides. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  httpjson: { layers: [], packages: /^(node:.*|@bufbuild\/.*)$/, gen: /^(httpjson|google|buf)\// },
  domain: { layers: [], packages: /^(node:crypto|@scure\/base|canonicalize)$/, gen: /^errors\.ts$/ },
  app: { layers: ["domain", "httpjson"], packages: /^node:(crypto|timers\/promises)$/ },
  outbound: { layers: ["app", "domain", ...RUNTIME], packages: none(OTHERS.sql, OTHERS.chain, OTHERS.rpc) },
  tools: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.rpc) },
  "tools/custom": { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.chain, "@connectrpc/.*") },
  payments: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.rpc) },
  postgres: { ...ADAPTER, packages: none(OTHERS.chain, OTHERS.rpc) },
  solana: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.rpc) },
  sandbox: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.chain, OTHERS.rpc) },
  inference: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.chain, OTHERS.rpc) },
  metrics: { ...ADAPTER, packages: none(OTHERS.sql, OTHERS.chain, OTHERS.rpc) },
  transport: {
    layers: ["app", "domain", "httpjson", "outbound", ...RUNTIME],
    packages: none(OTHERS.sql),
    gen: /./,
  },
  client: { layers: [], packages: /^(?!node:)/, gen: /^toolgate\// },
  "client/node": { layers: ["client"], gen: /^toolgate\// },
  console: {
    layers: [],
    packages: none("node:.*", OTHERS.sql, "@grpc/.*", "@connectrpc/connect-node"),
    gen: /./,
  },
  localchain: { layers: ["domain"] },
  config: { layers: ["domain", "inference", "sandbox", "tools", ...RUNTIME] },
  gateway: { layers: PARTS, gen: /./ },
  "gateway.ts": { layers: COMPOSED, gen: /./ },
  "start-checks.ts": { layers: COMPOSED, gen: /./ },
  cli: { layers: STARTED, gen: /./ },
  dev: { layers: [...STARTED, "cli", "localchain"], gen: /./ },
  "main.ts": { layers: ["cli"] },
  "main.mjs": { layers: ["cli"] },
  "system.ts": { layers: ["domain"] },
  "log.ts": { layers: ["domain"] },
};

/** Only these commands reach development code, by import() alone. */
const DEVELOPMENT = ["dev", "localchain"];
const LAZY = ["cli", "main.ts"];

interface Import {
  readonly specifier: string;
  readonly kind: "value" | "type" | "lazy";
}

/** One line for each import of src/ that the table refuses, and for each circle of value imports. */
export function layerProblems(sources: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  const arrows = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    for (const one of importsOf(source)) {
      const target = targetOf(file, one.specifier);
      const problem = refusal(file, target, one);
      if (problem) problems.push(`src/${file}: imports ${one.specifier}: ${problem}`);
      if (one.kind === "value" && target.startsWith("src/")) addArrow(arrows, file, target.slice(4));
    }
  }
  return [...problems, ...circles(arrows)];
}

/** The part of `npm run check`. */
export function layersAreKept(): Promise<Finished> {
  const root = path.join(ROOT, "src");
  const files = globSync("**/*.{ts,tsx,mjs}", { cwd: root });
  const sources = files.map((file) => [file, readFileSync(path.join(root, file), "utf8")] as const);
  const problems = layerProblems(new Map(sources));
  return Promise.resolve({
    code: problems.length === 0 ? 0 : 1,
    output: problems.map((line) => `${line}\n`).join(""),
  });
}

function refusal(file: string, target: string, { kind }: Import): string | undefined {
  const name = layerOf(file);
  const { layers, packages, gen } = LAYERS[name] ?? { layers: [] };
  const [kindOfTarget, rest = ""] = target.split(/\/(.*)/s);
  if (kindOfTarget === "test") return "sources do not import tests";
  if (kindOfTarget === "gen")
    return gen?.test(rest) ? undefined : `${name} does not know this generated code`;
  if (kindOfTarget !== "src")
    return packages?.test(target) === false ? `${name} may not use this package` : undefined;
  const [top = ""] = rest.split("/");
  if (DEVELOPMENT.includes(top) && LAZY.some((one) => name === one) && kind !== "value") return undefined;
  const isOwn = rest === name || rest.startsWith(`${name}/`);
  return isOwn || layers.some((one) => rest === one || rest.startsWith(`${one}/`))
    ? undefined
    : `${name} may import ${[...layers].join(", ") || "no other layer"}; change the design or ` +
        "test/tooling/layers.ts";
}

function layerOf(file: string): string {
  const parts = file.split("/");
  return [parts.slice(0, 2).join("/"), parts[0] ?? ""].find((name) => name in LAYERS) ?? parts[0] ?? "";
}

/** As `src/…`, `gen/…`, `test/…` or the name of a package. */
function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith(".")) return path.posix.join("src", path.posix.dirname(file), specifier);
  return specifier.replace(/^#gen\//, "gen/").replace(/^#httpjson\//, "src/httpjson/");
}

function importsOf(source: string): Import[] {
  const pattern =
    /^(?:import|export)\s(type\s)?(?:[^;"']*?\sfrom\s)?\s*["']([^"']+)["']|(?<![.\w])import\(\s*["']([^"']+)["']/gm;
  return [...source.matchAll(pattern)].map(([, type, eager, lazy]) => ({
    specifier: eager ?? lazy ?? "",
    kind: lazy === undefined ? (type ? "type" : "value") : "lazy",
  }));
}

/** Notes the folders in which the two files lie, below the folder that they have in common. */
function addArrow(arrows: Map<string, Set<string>>, from: string, to: string): void {
  const [one, other] = [from.split("/"), to.split("/")];
  const depth = one.findIndex((part, index) => part !== other[index]);
  if (one.length <= depth + 1 || other.length <= depth + 1 || depth < 0) return;
  const [start, end] = [one, other].map((parts) => parts.slice(0, depth + 1).join("/"));
  if (start && end) arrows.set(start, (arrows.get(start) ?? new Set()).add(end));
}

/** Folders beside each other that import each other, directly or through others. */
function circles(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = (start: string) => {
    const seen = new Set(arrows.get(start));
    for (const folder of seen) for (const next of arrows.get(folder) ?? []) seen.add(next);
    return seen;
  };
  return [...arrows.keys()]
    .filter((folder) => reached(folder).has(folder))
    .map((folder) => `src/${folder}: is part of a circle of folders; move what both need below them`);
}
