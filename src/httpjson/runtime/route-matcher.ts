import { normaliseEscapes } from "./percent-encoding.ts";
import type { Route } from "./route.ts";

/** A path that a route serves, with the raw segments that its variables are cut from. */
export interface RouteMatch {
  readonly status: 200;
  readonly route: Route;
  /** The path's segments, still percent-encoded, without the custom verb. */
  readonly segments: readonly string[];
}

/** A path that no route serves, or none for this HTTP method. */
export type NoRoute = { readonly status: 404 } | { readonly status: 405; readonly allow: readonly string[] };

/** The routes of one template by HTTP method. */
type Methods = Map<string, Route>;

interface Node {
  readonly literals: Map<string, Node>;
  any: Node | undefined;
  /** Routes that end here, by custom verb. */
  readonly ends: Map<string, Methods>;
  /** Routes that end here with `**`, by custom verb. */
  readonly rest: Map<string, Methods>;
}

/** Segments that `**` may stand for. */
const MANY = 0xffff;

const notFound: NoRoute = { status: 404 };

/** Finds the most specific route: a literal segment before `*`, `*` before `**` (google.api.HttpRule). */
export class RouteMatcher {
  readonly #static = new Map<string, Methods>();
  readonly #root = newNode();
  readonly #verbs = new Set<string>();
  /** Segments of the longest template. */
  #longest = 0;

  /** @throws Error when two routes have the same HTTP method and the same template, variables' names aside */
  constructor(routes: Iterable<Route>) {
    for (const route of routes) {
      this.#add(route);
    }
  }

  /** @param path the URL's path as received: percent-encoded, without the query */
  match(httpMethod: string, path: string): RouteMatch | NoRoute {
    const route = this.#static.get(path)?.get(httpMethod);
    if (route !== undefined) {
      return { status: 200, route, segments: route.segments };
    }
    if (!path.startsWith("/")) {
      return notFound;
    }
    const allow = new Set<string>();
    const segments = path === "/" ? [] : path.slice(1).split("/", this.#longest + 1);
    if (segments.length > this.#longest) {
      return notFound;
    }
    return (
      this.#search(httpMethod, segments, allow) ??
      (allow.size === 0 ? notFound : { status: 405, allow: [...allow].sort() })
    );
  }

  #search(httpMethod: string, segments: readonly string[], allow: Set<string>): RouteMatch | undefined {
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    const verb = last.slice(colon + 1);
    // A verb without a template is part of the segment.
    if (colon >= 0 && this.#verbs.has(verb)) {
      const cut = [...segments.slice(0, -1), last.slice(0, colon)];
      const found = this.#descend(httpMethod, cut, verb, allow);
      if (found !== undefined) {
        return found;
      }
    }
    return this.#descend(httpMethod, segments, "", allow);
  }

  #descend(
    httpMethod: string,
    segments: readonly string[],
    verb: string,
    allow: Set<string>,
  ): RouteMatch | undefined {
    const names = segments.map(normaliseEscapes);
    const visit = (node: Node, depth: number): Route | undefined => {
      const name = names[depth];
      if (name === undefined) {
        return pick(node.ends, verb, httpMethod, allow) ?? pick(node.rest, verb, httpMethod, allow);
      }
      const literal = node.literals.get(name);
      const found =
        (literal && visit(literal, depth + 1)) ??
        (node.any && name !== "" ? visit(node.any, depth + 1) : undefined);
      return found ?? pick(node.rest, verb, httpMethod, allow);
    };
    const route = visit(this.#root, 0);
    return route && { status: 200, route, segments };
  }

  #add(route: Route): void {
    let node = this.#root;
    let ends = node.ends;
    this.#longest = Math.max(this.#longest, route.segments.includes("**") ? MANY : route.segments.length);
    for (const segment of route.segments) {
      if (segment === "**") {
        ends = node.rest;
        break;
      }
      node = segment === "*" ? (node.any ??= newNode()) : getOrAdd(node.literals, segment, newNode);
      ends = node.ends;
    }
    const methods = getOrAdd(ends, route.verb, () => new Map<string, Route>());
    const other = methods.get(route.httpMethod);
    if (other !== undefined) {
      throw new Error(
        `${route.httpMethod} ${route.pattern} of ${route.method.toString()} is already served as ` +
          `${other.pattern} by ${other.method.toString()}`,
      );
    }
    methods.set(route.httpMethod, route);
    if (route.verb !== "") {
      this.#verbs.add(route.verb);
    }
    if (!route.segments.some((segment) => segment === "*" || segment === "**")) {
      this.#static.set(`/${route.segments.join("/")}${route.verb && `:${route.verb}`}`, methods);
    }
  }
}

function pick(
  ends: Map<string, Methods>,
  verb: string,
  httpMethod: string,
  allow: Set<string>,
): Route | undefined {
  const methods = ends.get(verb);
  if (methods === undefined) {
    return undefined;
  }
  for (const method of methods.keys()) {
    allow.add(method);
  }
  return methods.get(httpMethod) ?? methods.get("*");
}

function newNode(): Node {
  return { literals: new Map(), any: undefined, ends: new Map(), rest: new Map() };
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
