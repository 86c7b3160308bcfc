import { fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { parsePathTemplate, TemplateError } from "#httpjson/plugin/path-template.ts";
import { createTranscoder, JsonFieldError } from "#httpjson/runtime/index.ts";
import type { Route } from "#httpjson/runtime/index.ts";
import { readEmpty } from "#httpjson/runtime/well-known.ts";
import { bindRequest } from "#httpjson/runtime/bind-request.ts";
import { RouteMatcher } from "#httpjson/runtime/route-matcher.ts";
import { divergences } from "./facts/divergences.ts";
import { pathFacts } from "./facts/paths.ts";
import { queryFacts } from "./facts/queries.ts";
import type { TemplateFact } from "./facts/templates.ts";
import { templateFacts } from "./facts/templates.ts";
import { LibraryService } from "./gen/own/library_pb.ts";
import { libraryServiceRoutes } from "./gen/own/library_http.ts";
import { KindsSchema } from "./gen/own/kinds_pb.ts";

// Test tables of other transcoders: each entry holds here or is a named divergence.

const met = new Set<string>();

/** The fact holds, unless it is a divergence: then it does not. */
function expectFact(key: string, actual: unknown, expected: unknown): void {
  const reason = divergences.get(key);
  if (reason === undefined) {
    expect(actual).toEqual(expected);
  } else {
    met.add(key);
    expect(actual, `no longer a divergence: ${reason}`).not.toEqual(expected);
  }
}

describe("path templates", () => {
  it.each(templateFacts)("$source: $template", ({ template, accepts }) => {
    expectFact(template, parsed(template), accepts && { verb: "", variables: [], ...accepts });
  });
});

function parsed(template: string): Required<NonNullable<TemplateFact["accepts"]>> | undefined {
  try {
    const { segments, verb, variables } = parsePathTemplate(template);
    return {
      segments: segments.join("/"),
      verb,
      variables: variables.map(({ fieldPath, start, end }) => `${fieldPath}:${start}-${end ?? ""}`),
    };
  } catch (error) {
    expect(error).toBeInstanceOf(TemplateError);
    return undefined;
  }
}

describe("paths", () => {
  const rows = pathFacts.flatMap(({ source, templates, paths }) =>
    paths.map(([path, template, variables = {}]) => ({ source, templates, path, template, variables })),
  );

  it.each(rows)("$source: $path", ({ templates, path, template, variables }) => {
    const match = new RouteMatcher(templates.map(route)).match("GET", path);
    const actual =
      match.status === 200
        ? {
            template: match.route.pattern,
            variables: flat(bindRequest(match.route, match.segments, "", undefined)),
          }
        : undefined;
    expectFact(`GET ${path}`, actual, template === undefined ? undefined : { template, variables });
  });
});

function route(pattern: string): Route {
  const { segments, verb, variables } = parsePathTemplate(pattern);
  const named = variables.map(({ fieldPath, start, end, multi }) => ({
    ...{
      path: fieldPath.split(".").map((name) => [name]),
      kind: "text" as const,
      repeated: false,
      start,
      multi,
    },
    ...(end === undefined ? {} : { end }),
  }));
  return {
    ...{ method: LibraryService.method.ping, httpMethod: "GET", pattern, segments, verb, variables: named },
    ...{
      query: new Map(),
      unknownQuery: "deny",
      body: "",
      read: (json: unknown, path = "", depth = 1) => readEmpty(json, path, depth),
      write: () => ({}),
    },
  };
}

function flat(json: unknown, prefix = ""): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(json ?? {}).flatMap(([name, value]) =>
      typeof value === "object" ? Object.entries(flat(value, `${prefix}${name}.`)) : [[prefix + name, value]],
    ),
  );
}

describe("query parameters", () => {
  const transcoder = createTranscoder([libraryServiceRoutes]);

  it.each(queryFacts)("$source: $query", ({ query, json }) => {
    expectFact(
      `?${query}`,
      read(query),
      json === undefined ? undefined : fromJson(KindsSchema, JSON.parse(JSON.stringify(json))),
    );
  });

  function read(query: string): unknown {
    const match = transcoder.match("GET", "/kinds");
    if (match.status !== 200) {
      throw new Error("no route");
    }
    try {
      return transcoder.read(match, query, undefined);
    } catch (error) {
      expect(error).toBeInstanceOf(JsonFieldError);
      return undefined;
    }
  }
});

describe("the list of divergences", () => {
  it("has no entry without a fact", () => {
    expect([...divergences.keys()].filter((key) => !met.has(key))).toEqual([]);
  });

  it("leaves over 150 facts without a divergence", () => {
    const facts =
      templateFacts.length + pathFacts.reduce((sum, { paths }) => sum + paths.length, 0) + queryFacts.length;
    expect(facts - divergences.size).toBeGreaterThan(240);
  });
});
