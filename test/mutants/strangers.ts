import type { Mutant } from "./mutant.ts";

const STRANGERS_TEST = ["test/security/strangers.test.ts"];

/** What keeps a caller without a key from costing more than microseconds. */
export const STRANGERS: readonly Mutant[] = [
  {
    name: "answers-read",
    guard: "A request is not worked on while earlier answers of its connection wait to be read.",
    file: "src/transport/http/open-answers.ts",
    find: "return unread < this.#limits.unread;",
    replace: "return true;",
    tests: ["test/transport/http/slow-callers.test.ts"],
    only: "behind an answer|asks nothing more",
  },
  {
    name: "documents-kept",
    guard: "A document is encoded and hashed once, not for each request.",
    file: "src/transport/documents/document-door.ts",
    find: "if (known?.text === text) return known;",
    replace: "void known;",
    tests: STRANGERS_TEST,
    only: "OpenAPI document|what is not there",
  },
  {
    name: "host-short",
    guard: "A long Host is not read as part of a URL.",
    file: "src/transport/http/server.ts",
    find: "if (isTooLong(request.headers.host))",
    replace: "if (false)",
    tests: STRANGERS_TEST,
    only: "host name|of cookies",
  },
  {
    name: "catalogue-kept",
    guard: "The catalogue's message is made when something in it changes, not for each request.",
    file: "src/transport/shared-message.ts",
    find: "if (this.#kept?.source !== source)",
    replace: "if (true)",
    tests: ["test/transport/shared-message.test.ts"],
  },
];
