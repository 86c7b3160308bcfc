import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT, type Finished } from "./command.ts";

const RUNTIME = ["log.ts", "loop-time.ts", "optional-packages.ts", "system.ts", "version.ts"];
const INNER = ["app", "domain", "dialects", ...RUNTIME];
const CORE = [...INNER, "outbound"];
const ADAPTERS = [
  "archive",
  "inference",
  "metrics",
  "payments",
  "postgres",
  "sandbox",
  "solana",
  "tools",
  "tracing",
];
const PARTS = [...CORE, ...ADAPTERS, "config", "httpjson", "transport"];
const COMPOSED = [...PARTS, "gateway"];
const STARTED = [...COMPOSED, "gateway.ts", "start-checks.ts", "workers", "client"];

const [SQL, CHAIN, RPC] = ["pg|@mikro-orm/.*", "@solana/.*", "@grpc/.*|@connectrpc/.*"];
const only = (...names: string[]) => new RegExp(`^(?:${names.join("|")})$`);
const except = (...names: string[]) => new RegExp(`^(?!(?:${names.join("|")})$)`);
const ANY = /./;
const GRPC = /^(buf|grpc)/;

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
  domain: { layers: [], packages: only("node:crypto", "@scure/base", "canonicalize"), gen: /^errors\.ts$/ },
  dialects: { layers: ["domain"], packages: only() },
  httpjson: { layers: [], packages: only("node:.*", "@bufbuild/.*"), gen: /^(httpjson|google|buf)\// },
  app: { layers: ["domain", "httpjson"], packages: only("node:crypto", "node:timers/promises") },
  archive: { layers: INNER, packages: except(SQL, CHAIN, RPC) },
  outbound: { layers: INNER, packages: except(SQL, CHAIN, RPC) },
  inference: { layers: CORE, packages: except(SQL, CHAIN, RPC), gen: GRPC },
  metrics: { layers: CORE, packages: except(SQL, CHAIN, RPC), gen: GRPC },
  payments: { layers: CORE, packages: except(SQL, RPC), gen: GRPC },
  postgres: { layers: CORE, packages: except(CHAIN, RPC), gen: GRPC },
  sandbox: { layers: CORE, packages: except(SQL, CHAIN, RPC), gen: GRPC },
  solana: { layers: CORE, packages: except(SQL, RPC), gen: GRPC },
  tools: { layers: CORE, packages: except(SQL, RPC), gen: GRPC },
  "tools/custom": { layers: CORE, packages: except(SQL, CHAIN, "@connectrpc/.*"), gen: GRPC },
  tracing: { layers: CORE, packages: except(SQL, CHAIN, RPC) },
  transport: { layers: [...CORE, "httpjson"], packages: except(SQL), gen: ANY },
  client: { layers: [], packages: except("node:.*"), gen: /^toolgate\// },
  "client/node": { layers: ["client"], gen: /^toolgate\// },
  console: { layers: [], packages: except("node:.*", SQL, "@grpc/.*", "@connectrpc/connect-node"), gen: ANY },
  localchain: { layers: ["domain"] },
  config: { layers: ["domain", "inference", "sandbox", "tools", ...RUNTIME] },
  gateway: { layers: PARTS, gen: ANY },
  "gateway.ts": { layers: COMPOSED, gen: ANY },
  "start-checks.ts": { layers: COMPOSED, gen: ANY },
  workers: { layers: COMPOSED },
  cli: { layers: STARTED, gen: ANY },
  dev: { layers: [...STARTED, "cli", "localchain"], gen: ANY },
  "main.ts": { layers: ["cli", "packaged-node.mjs"] },
  "main.mjs": { layers: ["cli", "packaged-node.mjs"] },
  "bootstrap.mjs": { layers: ["packaged-node.mjs"] },
  "system.ts": { layers: ["domain"] },
  "log.ts": { layers: ["domain"] },
};

/** Only these layers reach development code, by types and import(). */
const DEVELOPMENT = ["dev", "localchain"];
const LAZY = ["cli", "main.ts"];

interface Import {
  readonly specifier: string;
  /** Whether it loads the module when the importing file is loaded. */
  readonly isEager: boolean;
}

/** One line for each import of src/ that the table refuses, and for each circle of files or folders. */
export function layerProblems(sources: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  const arrows = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    for (const one of importsOf(source)) {
      const target = targetOf(file, one.specifier);
      const problem = refusal(file, target, one);
      if (problem) problems.push(`src/${file}: imports ${one.specifier}: ${problem}`);
      if (target.startsWith("src/")) addArrow(arrows, file, target.slice(4));
    }
  }
  return [...problems, ...circles(arrows)];
}

/** The part of `npm run check`. */
export function layersAreKept(): Promise<Finished> {
  const root = path.join(ROOT, "src");
  const files = globSync("**/*.{ts,tsx,mjs}", { cwd: root });
  const sources = files.map((file) => [file, readFileSync(path.join(root, file), "utf8")] as const);
  const output = layerProblems(new Map(sources))
    .map((line) => `${line}\n`)
    .join("");
  return Promise.resolve({ code: output === "" ? 0 : 1, output });
}

function refusal(file: string, target: string, { isEager }: Import): string | undefined {
  const name = layerOf(file);
  const { layers, packages, gen } = LAYERS[name] ?? { layers: [] };
  const [kindOfTarget, rest = ""] = target.split(/\/(.*)/s);
  if (kindOfTarget === "test") return "sources do not import tests";
  if (kindOfTarget === "gen")
    return gen?.test(rest) ? undefined : `${name} does not know this generated code`;
  if (kindOfTarget !== "src")
    return packages?.test(target) === false ? `${name} may not use this package` : undefined;
  const [top = ""] = rest.split("/");
  if (DEVELOPMENT.includes(top) && LAZY.includes(name) && !isEager) return undefined;
  if ([name, ...layers].some((one) => `${rest}/`.startsWith(`${one}/`))) return undefined;
  return `${name} may import ${layers.join(", ") || "no other layer"}; change it or test/tooling/layers.ts`;
}

function layerOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  return `${top}/${second}` in LAYERS ? `${top}/${second}` : top;
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
    isEager: lazy === undefined && type === undefined,
  }));
}

/** Notes the import between the two members of the folder that both files have in common. */
function addArrow(arrows: Map<string, Set<string>>, from: string, to: string): void {
  const [one, other] = [from.split("/"), to.split("/")];
  const depth = one.findIndex((part, index) => part !== other[index]);
  const [start, end] = [one, other].map((parts) => parts.slice(0, depth + 1).join("/"));
  if (depth >= 0 && start && end) arrows.set(start, (arrows.get(start) ?? new Set()).add(end));
}

/** Members of one folder that import each other, directly or through others: one line a circle. */
function circles(arrows: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = new Map([...arrows.keys()].map((start) => [start, reachedFrom(start, arrows)]));
  const circleOf = (member: string) =>
    [...arrows.keys()].filter(
      (other) => reached.get(member)?.has(other) === true && reached.get(other)?.has(member) === true,
    );
  const found = [...arrows.keys()].map((member) => circleOf(member).toSorted().join(", src/"));
  return [...new Set(found)]
    .filter((circle) => circle !== "")
    .map((circle) => `src/${circle}: import each other; move what both need below them`);
}

function reachedFrom(start: string, arrows: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const seen = new Set(arrows.get(start));
  for (const member of seen) for (const next of arrows.get(member) ?? []) seen.add(next);
  return seen;
}
