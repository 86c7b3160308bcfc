import { create } from "@bufbuild/protobuf";
import type { Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  createErrorBody,
  createTranscoder,
  isJsonContentType,
  JsonFieldError,
  parseBody,
} from "#httpjson/runtime/index.ts";
import type { Handler, ServiceHandlers } from "#httpjson/runtime/index.ts";
import { bookToJson, errorBindings, libraryServiceRoutes } from "./gen/own/library_http.ts";
import {
  BookSchema,
  ListBooksResponseSchema,
  OutOfStockSchema,
  ProblemSchema,
} from "./gen/own/library_pb.ts";
import type { LibraryService } from "./gen/own/library_pb.ts";
import { libraryServiceRoutes as lenientRoutes } from "./gen/protojson/library_http.ts";
import { Genre } from "./gen/own/shared_pb.ts";

const transcoder = createTranscoder([libraryServiceRoutes]);

function read(method: string, url: string, body?: unknown, using = transcoder): Message {
  const [path = "", query = ""] = url.split("?");
  const match = using.match(method, path);
  if (match.status !== 200) {
    throw new Error(`${method} ${path}: ${match.status}`);
  }
  return using.read(match, query, body);
}

function problem(method: string, url: string, body?: unknown): string {
  try {
    read(method, url, body);
  } catch (error) {
    if (error instanceof JsonFieldError) {
      return error.path;
    }
    throw error;
  }
  return "none";
}

describe("a transcoded request", () => {
  it("matches additional_bindings", () => {
    expect(read("GET", "/v1/books/b%2F1")).toMatchObject({ name: "b/1" });
  });

  it("reads fields that the path does not bind from the query, nested and under both names", () => {
    const request = read(
      "GET",
      "/v1/shelves/s/books?page_size=5&genres=fiction&genres=GENRE_SCIENCE&author.surname=Bell&inPrint=true&publishedAfter=2026-01-01T00:00:00Z",
    );
    expect(request).toMatchObject({
      shelf: "s",
      pageSize: 5,
      genres: [1, 2],
      author: { familyName: "Bell" },
      inPrint: true,
      publishedAfter: { seconds: 1767225600n },
    });
  });

  it.each(["2", "GENRE_FICTION", "any", "GENRE_UNSPECIFIED", "Fiction", ""])(
    "reads an enum with its own names only, not %j",
    (genre) => {
      expect(() => read("GET", `/v1/shelves/s/books?genres=${genre}`)).toThrow(
        "genres: must be one of fiction, GENRE_NOVEL, GENRE_SCIENCE",
      );
    },
  );

  it.each(["1.0", "1e2", "+1", "0x10", " 1", ""])("reads integers in digits only, not %j", (size) => {
    expect(() => read("GET", `/v1/shelves/s/books?page_size=${encodeURIComponent(size)}`)).toThrow(
      "page_size: must be a whole number",
    );
    expect(read("GET", "/v1/shelves/s/books?page_size=-1")).toMatchObject({ pageSize: -1 });
  });

  it("reads one field from the body and the others from path and query", () => {
    expect(read("POST", "/v1/shelves/s/books?dryRun=true", { title: "T" })).toMatchObject({
      shelf: "s",
      dryRun: true,
      book: { title: "T" },
    });
  });

  it("accepts a path variable repeated in the body, but no contradiction", () => {
    const path = "/v1/shelves/1/books/2";
    expect(read("PATCH", `${path}?update_mask=title`, { title: "T" })).toMatchObject({
      book: { name: "shelves/1/books/2", title: "T" },
      updateMask: { paths: ["title"] },
    });
    expect(read("PATCH", path, { name: "shelves/1/books/2" })).toMatchObject({
      book: { name: "shelves/1/books/2" },
    });
    expect(problem("PATCH", path, { name: "another" })).toBe("book.name");
    expect(problem("PATCH", path, { name: { toString: 1 } })).toBe("book.name");
    expect(problem("PATCH", path, "no object")).toBe("book");
  });

  it("reads everything but the path from the body with body *, and no query", () => {
    expect(read("POST", "/v1/shelves/1/books/2:move", { to_shelf: "3" })).toMatchObject({
      name: "shelves/1/books/2",
      toShelf: "3",
    });
    expect(problem("POST", "/v1/shelves/1/books/2:move?to_shelf=3", {})).toBe("to_shelf");
  });

  it("converts path variables to booleans, enum values and nested fields", () => {
    expect(read("GET", "/kinds/true/2/Ada")).toMatchObject({
      on: true,
      colour: 2,
      nested: { givenName: "Ada" },
    });
    expect(problem("GET", "/kinds/yes/2/Ada")).toBe("on");
    expect(problem("GET", "/kinds/true/GREEN/Ada")).toBe("colour");
  });

  it("does not bind a query parameter that the path binds", () => {
    expect(problem("GET", "/v1/shelves/s/books?shelf=t")).toBe("shelf");
  });

  it("requires a body exactly where the rule has one", () => {
    expect(problem("POST", "/v1/shelves/s/books")).toBe("body");
    expect(problem("POST", "/v1/shelves/1/books/2:move")).toBe("body");
    expect(problem("GET", "/v1/books/1", {})).toBe("body");
    expect(problem("POST", "/v1/shelves/1/books/2:move", [])).toBe("body");
  });

  it("is refused for malformed percent escapes anywhere", () => {
    expect(problem("GET", "/v1/books/%zz")).toBe("name");
    expect(problem("GET", "/v1/books/%ff")).toBe("name");
    expect(problem("DELETE", "/v1/shelves/a/%e0%a4")).toBe("name");
    expect(problem("GET", "/v1/shelves/s/books?page_size=%f")).toBe("page_size");
    expect(problem("GET", "/v1/shelves/s/books?%f=1")).toBe("%f");
  });

  it("is refused for an unknown or repeated parameter, unless unknown ones are ignored", () => {
    expect(problem("GET", "/v1/shelves/s/books?constructor=1")).toBe("constructor");
    expect(problem("GET", "/v1/shelves/s/books?__proto__.x=1")).toBe("__proto__.x");
    expect(problem("GET", "/v1/shelves/s/books?page_size=1&pageSize=2")).toBe("page_size");
    expect(
      read("GET", "/v1/shelves/s/books?debug=1&page_size=5", undefined, createTranscoder([lenientRoutes])),
    ).toMatchObject({ pageSize: 5 });
  });

  it("ignores the query of a GET without parameters", () => {
    expect(read("GET", "/v1/books/1?debug=1&debug=%f")).toMatchObject({ name: "1" });
  });

  it("reads fields whose names every object inherits", () => {
    expect(read("GET", "/kinds?constructor=c&to_string=s")).toMatchObject({
      constructor$: "c",
      toString$: "s",
    });
    expect(read("GET", "/kinds?toString=s")).toMatchObject({ constructor$: "", toString$: "s" });
  });

  it("may nest up to the limit", () => {
    const nest = (levels: number): unknown => (levels === 1 ? {} : { deeper: nest(levels - 1) });
    expect(problem("POST", "/kinds", nest(64))).toBe("none");
    expect(problem("POST", "/kinds", nest(65))).toBe(Array.from({ length: 64 }, () => "deeper").join("."));
    const lists = (levels: number): unknown => (levels === 0 ? 1 : [lists(levels - 1)]);
    expect(problem("POST", "/kinds", { struct: { a: lists(62) } })).toBe("none");
    expect(problem("POST", "/kinds", { struct: { a: lists(63) } })).toBe(`struct.a${"[0]".repeat(62)}`);
    expect(problem("POST", "/kinds", { values: lists(63) })).toBe("none");
    expect(problem("POST", "/kinds", { values: lists(64) })).toBe(`values${"[0]".repeat(63)}`);
  });

  it("never overflows the stack", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    expect(problem("POST", "/kinds", { struct: { a: deep } })).toMatch(/^struct\.a\[0\]/);
    expect(problem("POST", "/kinds", deep)).toBe("body");
  });
});

describe("a transcoded path", () => {
  it("returns 404 without a route", () => {
    expect(transcoder.match("GET", "/v2/books/1")).toEqual({ status: 404 });
    expect(transcoder.match("GET", "")).toEqual({ status: 404 });
    expect(transcoder.match("GET", "*")).toEqual({ status: 404 });
  });

  it("returns 405 with the methods of the path", () => {
    expect(transcoder.match("PUT", "/v1/shelves/1/books/2")).toEqual({
      status: 405,
      allow: ["DELETE", "GET", "PATCH"],
    });
    expect(transcoder.match("GET", "/v1/shelves/1/books/2:move")).toMatchObject({ status: 200 });
    expect(transcoder.match("HEAD", "/v1/books/1")).toEqual({ status: 405, allow: ["GET"] });
    expect(transcoder.match("OPTIONS", "/v1/books/1")).toEqual({ status: 405, allow: ["GET"] });
  });

  it("serves custom verbs: HEAD where named, any method for *", () => {
    expect(transcoder.match("HEAD", "/")).toMatchObject({ status: 200 });
    expect(transcoder.match("PURGE", "/kinds")).toMatchObject({ status: 200, route: { httpMethod: "*" } });
    expect(transcoder.match("GET", "/kinds")).toMatchObject({ status: 200, route: { httpMethod: "GET" } });
  });

  it("cannot belong to two services", () => {
    expect(() => createTranscoder([libraryServiceRoutes, libraryServiceRoutes])).toThrow(/already served/);
  });
});

describe("a transcoded response", () => {
  const author = { givenName: "Ada", familyName: "Bell" };
  const book = create(BookSchema, {
    name: "b",
    title: "T",
    author,
    priceMicrousd: 2n ** 53n - 1n,
    genre: Genre.FICTION,
  });
  const json = {
    ...{ name: "b", title: "T", author: { given_name: "Ada", family_name: "Bell", influences: [] } },
    ...{ price_microusd: 9007199254740991, subtitle: null, published: null, genre: "fiction" },
  };

  it("follows the options: proto names, defaults, exact integers, enum strings and null", () => {
    expect(JSON.parse(JSON.stringify(bookToJson(book)))).toEqual(json);
    expect(bookToJson({ ...book, priceMicrousd: 2n ** 53n })).toMatchObject({
      price_microusd: "9007199254740992",
    });
    expect(bookToJson({ ...book, genre: Genre.SCIENCE })).toMatchObject({ genre: "GENRE_SCIENCE" });
  });

  it("is one field with response_body", () => {
    const match = transcoder.match("GET", "/v1/shelves/s/books");
    expect(match).toMatchObject({ status: 200 });
    if (match.status === 200) {
      expect(
        JSON.parse(JSON.stringify(match.route.write(create(ListBooksResponseSchema, { books: [book] })))),
      ).toEqual([json]);
    }
  });

  it("comes from the handler of the method's name", async () => {
    const library: Pick<
      ServiceHandlers<typeof LibraryService, { caller: string }>,
      "getBook" | "deleteBook"
    > = {
      getBook: async (request, { caller }) => create(BookSchema, { name: request.name, title: caller }),
      deleteBook: async () => create(EmptySchema),
    };
    const handlers: Readonly<Record<string, Handler<{ caller: string }>>> = library;
    const match = transcoder.match("GET", "/v1/books/1");
    if (match.status !== 200) {
      throw new Error("no route");
    }
    const response = await handlers[match.route.method.localName]?.(transcoder.read(match, "", undefined), {
      caller: "me",
    });
    expect(response && match.route.write(response)).toMatchObject({ name: "1", title: "me" });
  });
});

describe("a transcoded error", () => {
  const errorBody = createErrorBody(errorBindings);

  it("has the status and JSON of the first detail with a binding", () => {
    const details = [create(BookSchema), create(OutOfStockSchema, { title: "T" }), create(ProblemSchema)];
    expect(errorBody(details)).toEqual({ status: 410, json: { title: "T" } });
  });

  it("chooses the status when the binding has none", () => {
    expect(errorBody([create(ProblemSchema, { code: "X" })])).toEqual({
      status: undefined,
      json: { code: "X" },
    });
  });

  it("has no body without such a detail", () => {
    expect(errorBody([create(BookSchema)])).toBeUndefined();
    expect(errorBody([])).toBeUndefined();
  });
});

describe("a request body", () => {
  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ])("is JSON with %s", (type) => {
    expect(isJsonContentType(type)).toBe(true);
  });

  it.each([
    undefined,
    "",
    "text/plain",
    "application/json; charset=latin1",
    "application/json5",
    "application/problem+json",
    "multipart/form-data",
  ])("is not JSON with %s", (type) => {
    expect(isJsonContentType(type)).toBe(false);
  });

  it("is parsed as UTF-8 JSON, and undefined when empty", () => {
    expect(parseBody(new TextEncoder().encode('{"a":"é"}'))).toEqual({ a: "é" });
    expect(parseBody(new Uint8Array(0))).toBeUndefined();
    expect(() => parseBody(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(JsonFieldError);
    expect(() => parseBody(new TextEncoder().encode("{'a':1}"))).toThrow(JsonFieldError);
  });
});
